local L, V, N, X, D = unpack(KEYS)
local how, arg = ARGV[1], ARGV[2]

-- Each key is read, and each right checked, before anything is written.
local wrong = error_of('zcard', L) or error_of('hlen', V) or error_of('hlen', N) or lacks('zrem', L, '') or lacks('hdel', V, '')
if how == 'bury' then
  wrong = wrong or error_of('zcard', X) or lacks('hset', V, '', '') or lacks('zadd', X, '0', '')
elseif how == 'extend' or how == 'retry' then
  wrong = wrong or lacks('zadd', L, '0', '') or lacks('hset', N, '', '')
elseif how == 'ack' or how == 'release' then
  wrong = wrong or lacks('hdel', N, '') or how == 'release' and (error_of('llen', D) or lacks('lpush', D, ''))
else
  return redis.error_reply('ERR expected ack, extend, retry, bury or release')
end
if wrong then return wrong end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local settled = {}
for i = 3, #ARGV, 2 do
  local id, delivery = ARGV[i], ARGV[i + 1]
  local last = redis.call('hget', N, id)
  local held = redis.call('zscore', L, id) and last == delivery and redis.call('hget', N, 'f' .. id) ~= delivery
  local value = held and how == 'release' and redis.call('hget', V, id)
  -- The first write frees something in name: a server that is out of memory lets the others follow. A lease ends last: Redis 6.2
  -- cannot ask for rights, and an error leaves the message leased.
  if held then redis.call('hdel', V, '') end
  if held and how == 'extend' then
    redis.call('zadd', L, string.format('%.0f', now + tonumber(arg) + 1), id) -- now is up to 1 ms ago
  elseif held and how == 'retry' then
    redis.call('hset', N, 'f' .. id, delivery)
    redis.call('zadd', L, string.format('%.0f', now + tonumber(arg)), id)
  elseif held and how == 'bury' then
    redis.call('hset', V, 'r' .. id, arg)
    redis.call('zadd', X, string.format('%.0f', now), id)
    redis.call('zrem', L, id)
  elseif held then
    if value then redis.call('lpush', D, value) end
    redis.call('zrem', L, id)
    redis.call('hdel', V, id)
    redis.call('hdel', N, id, 'f' .. id)
  end
  settled[#settled + 1] = held and 1 or last and last ~= delivery and -1 or 0
end
return settled
