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
  local before = tonumber(string.match(redis.call('hget', A, digest) or '0', '^%d+'))
  -- What was held before may be what ended its consumer: nothing is held with it that it would end too.
  if before > 0 and i > 1 then break end
  redis.call('hset', A, digest, string.format('%d:%.0f', before + 1, now))
  local member = token .. struct.pack('<I4I4', i, before + 1) .. value
  redis.call('zadd', R, string.format('%.0f', now + visibility), member)
  held[i] = member
  if before > 0 then break end
end
-- They leave the list last: where that fails they come twice, and are not lost.
if #held > 0 then redis.call('ltrim', D, #held, -1) end
return held
