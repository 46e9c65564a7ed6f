local D, R, A = KEYS[1], KEYS[2], KEYS[3]
local count, token, visibility = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

for key, length in pairs({[D] = 'llen', [R] = 'zcard', [A] = 'hlen'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end

local values = redis.call('lrange', D, 0, count - 1)
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = {}
for i, value in ipairs(values) do
  local digest = redis.sha1hex(value)
  local before = redis.call('hget', A, digest) or '0'
  local attempt = tonumber(string.match(before, '^%d+')) + 1
  redis.call('hset', A, digest, string.format('%d:%.0f', attempt, now))
  local member = token .. struct.pack('<I4I4', i, attempt) .. value
  redis.call('zadd', R, string.format('%.0f', now + visibility), member)
  held[i] = member
end
-- They leave the list last: where that fails they come twice, and are not lost.
if #values > 0 then redis.call('ltrim', D, #values, -1) end
return held
