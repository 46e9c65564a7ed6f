local M, B, R, A = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local value, token, visibility = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- Nothing is taken out of a list before it is sure that it can be held.
for key, length in pairs({[M] = 'llen', [B] = 'llen', [R] = 'zcard', [A] = 'hlen'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end

if redis.call('lrem', M, 1, value) == 0 and redis.call('lrem', B, 1, value) == 0 then
  return false
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local digest = redis.sha1hex(value)
local before = redis.call('hget', A, digest) or '0'
local attempt = tonumber(string.match(before, '^%d+')) + 1
redis.call('hset', A, digest, string.format('%d:%.0f', attempt, now))
local member = token .. struct.pack('<I4', attempt) .. value
redis.call('zadd', R, string.format('%.0f', now + visibility), member)
return attempt
