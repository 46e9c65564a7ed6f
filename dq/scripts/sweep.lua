local D, M, B, R, A, X = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local limit, grace, batch, cursor, forget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])

for key, length in pairs({[D] = 'llen', [M] = 'llen', [B] = 'llen', [R] = 'zcard', [A] = 'hlen', [X] = 'zcard'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Whose time is over goes back to the front, the first one foremost.
local returned, buried = 0, 0
local over = {}
for _, member in ipairs(redis.call('zrangebyscore', R, '-inf', string.format('%.0f', now), 'limit', 0, batch)) do
  if #member < 20 then
    redis.call('zadd', R, 'inf', member) -- no dq has written it: it is kept, and never due
  else
    over[#over + 1] = member
  end
end
for i = #over, 1, -1 do
  local member = over[i]
  local attempt, value = struct.unpack('<I4', member, 17), string.sub(member, 21)
  if limit > 0 and attempt >= limit then
    local reason = 'the visibility timeout ran out'
    redis.call('zadd', X, string.format('%.0f', now), string.sub(member, 1, 20) .. struct.pack('<I2', #reason) .. reason .. value)
    redis.call('hdel', A, redis.sha1hex(value))
    buried = buried + 1
  else
    redis.call('lpush', D, value)
    returned = returned + 1
  end
  redis.call('zrem', R, member)
end

-- Nobody has held what is in B for the whole of a turn: the consumer is gone. A turn that lies ahead was begun by a
-- server with another clock, before a fail-over.
local turned = tonumber(redis.call('hget', A, 'turned') or '0') or 0
if now - turned >= grace or turned > now then
  for _ = 1, batch do
    if not redis.call('rpoplpush', B, D) then break end
    returned = returned + 1
  end
  if redis.call('exists', B) == 0 and redis.call('exists', M) == 1 then
    redis.call('rename', M, B)
    redis.call('hset', A, 'turned', string.format('%.0f', now))
  end
end

-- The count of a message that somebody else has taken from D is of no use.
local counts = redis.call('hscan', A, cursor, 'count', 10)
for i = 1, #counts[2], 2 do
  local at = string.match(counts[2][i + 1], ':(%d+)$')
  if at and now - tonumber(at) > forget then redis.call('hdel', A, counts[2][i]) end
end

local first = redis.call('zrange', R, 0, 0, 'withscores')
local next = first[2] and first[2] ~= 'inf' and tonumber(first[2]) - now
return {returned, buried, next or false, counts[1]}
