local R, A, X, D, T, Q, C = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local how, member = ARGV[1], ARGV[2]

for key, length in pairs({[R] = 'zcard', [A] = 'hlen', [X] = 'zcard', [D] = 'llen', [T] = 'zcard', [Q] = 'llen'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end

if not redis.call('zscore', R, member) then return 0 end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local attempt, value = struct.unpack('<I4', member, 17), string.sub(member, 21)
local digest = redis.sha1hex(value)

local function bury(reason)
  reason = string.sub(reason, 1, 1000)
  local dead = string.sub(member, 1, 20) .. struct.pack('<I2', #reason) .. reason .. value
  redis.call('zadd', X, string.format('%.0f', now), dead)
  redis.call('hdel', A, digest)
  return 2
end

if how == 'extend' then
  redis.call('zadd', R, string.format('%.0f', now + tonumber(ARGV[3])), member)
  return 1
end
redis.call('zrem', R, member)
if how == 'ack' then
  redis.call('hdel', A, digest)
  return 1
end
-- nack: the limit, the reason, and what to offer again when, or nothing for at once.
local limit, reason, due, pending = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
if limit > 0 and attempt >= limit then
  return bury(reason)
end
if due == '' then
  redis.call('lpush', D, value)
  return 1
end
redis.call('zadd', T, due, pending)
redis.call('rpush', Q, pending)
if redis.call('zrange', T, 0, 0)[1] == pending then
  redis.call('publish', C, due)
end
return 1
