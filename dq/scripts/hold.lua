local M, B, R, A = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local value, token, visibility = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- Nothing is taken out of a list before it is sure that it can be held.
for key, length in pairs({[M] = 'llen', [B] = 'llen', [R] = 'zcard', [A] = 'hlen'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end

local from
for _, list in ipairs({M, B}) do
  for _, moved in ipairs(redis.call('lrange', list, 0, -1)) do
    if moved == value then from = from or list end
  end
end
if not from then return false end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local digest = redis.sha1hex(value)
local before = redis.call('hget', A, digest) or '0'
local attempt = tonumber(string.match(before, '^%d+')) + 1
redis.call('hset', A, digest, string.format('%d:%.0f', attempt, now))
local member = token .. struct.pack('<I4', attempt) .. value
redis.call('zadd', R, string.format('%.0f', now + visibility), member)
redis.call('lrem', from, 1, value)
return attempt
