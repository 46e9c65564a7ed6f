local L, V, N, X, D = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local how, arg = ARGV[1], ARGV[2]

-- Each key is read before anything is written, or is the first that is written: one of another type ends the script there.
if how == 'bury' then redis.call('zcard', X) end
if how == 'release' then redis.call('llen', D) end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local settled = {}
for i = 3, #ARGV, 2 do
  local id, delivery = ARGV[i], ARGV[i + 1]
  local last = redis.call('hget', N, id)
  local held = redis.call('zscore', L, id) and last == delivery and redis.call('hget', N, 'f' .. id) ~= delivery
  if held and how == 'extend' then
    redis.call('zadd', L, string.format('%.0f', now + tonumber(arg)), id)
  elseif held and how == 'retry' then
    redis.call('hset', N, 'f' .. id, delivery)
    redis.call('zadd', L, string.format('%.0f', now + tonumber(arg)), id)
  elseif held and how == 'bury' then
    redis.call('hset', V, 'r' .. id, arg)
    redis.call('zadd', X, string.format('%.0f', now), id)
    redis.call('zrem', L, id)
  elseif held then
    local value = how == 'release' and redis.call('hget', V, id)
    if value then redis.call('lpush', D, value) end
    redis.call('hdel', V, id)
    redis.call('zrem', L, id)
    redis.call('hdel', N, id, 'f' .. id)
  end
  settled[#settled + 1] = held and 1 or last and last ~= delivery and -1 or 0
end
return settled
