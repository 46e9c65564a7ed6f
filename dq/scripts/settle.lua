local R, A, X, D, T, Q, C = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local how, member = ARGV[1], ARGV[2]

for key, length in pairs({[R] = 'zcard', [A] = 'hlen', [X] = 'zcard', [D] = 'llen', [T] = 'zcard', [Q] = 'llen'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end

local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Several at a time: done, or given back as if they had not been held.
if how == 'ack' or how == 'release' then
  local settled = {}
  for i = #ARGV, 2, -1 do
    local value = string.sub(ARGV[i], 21)
    local digest = redis.sha1hex(value)
    local is = redis.call('zscore', R, ARGV[i]) and 1 or 0
    if is == 1 and how == 'release' then
      redis.call('lpush', D, value)
      local before = tonumber(string.match(redis.call('hget', A, digest) or '0', '^%d+'))
      if before > 1 then redis.call('hset', A, digest, string.format('%d:%.0f', before - 1, now)) end
      if before == 1 then redis.call('hdel', A, digest) end
    elseif is == 1 then
      redis.call('hdel', A, digest)
    end
    redis.call('zrem', R, ARGV[i])
    settled[i - 1] = is
  end
  return settled
end

if not redis.call('zscore', R, member) then return 0 end
local attempt, value = struct.unpack('<I4', member, 17), string.sub(member, 21)
local digest = redis.sha1hex(value)

local function bury(reason)
  reason = string.sub(reason, 1, 1000)
  local dead = string.sub(member, 1, 20) .. struct.pack('<I2', #reason) .. reason .. value
  redis.call('zadd', X, string.format('%.0f', now), dead)
  redis.call('hdel', A, digest)
end

if how == 'extend' then
  redis.call('zadd', R, string.format('%.0f', now + tonumber(ARGV[3])), member)
  return 1
end
-- nack: the limit, the reason, and what to offer again when, or nothing for at once. What is held goes
-- last: where that fails the message comes twice, and is not lost.
local limit, reason, due, pending = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
if limit > 0 and attempt >= limit then
  bury(reason)
  redis.call('zrem', R, member)
  return 2
end
if due == '' then
  redis.call('lpush', D, value)
  redis.call('zrem', R, member)
  return 1
end
redis.call('zadd', T, due, pending)
redis.call('rpush', Q, pending)
redis.call('zrem', R, member)
if redis.call('zrange', T, 0, 0)[1] == pending then
  redis.call('publish', C, due)
end
return 1
