local T, Q, S, P, U1, U2 = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local now, cost, least = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local sample, near = 32, 1000
if not now or not cost or not least then
  return redis.error_reply('ERR expected a time, a cost and a length')
end
local wrong = error_of('zcard', T) or error_of('llen', Q) or error_of('hlen', S) or error_of('hlen', P)
if wrong then return wrong end

local length = redis.call('llen', Q)
local covered = redis.call('hget', S, 'covered')
local passing = redis.call('exists', P)
local unlisted = redis.call('exists', U1) + redis.call('exists', U2)
-- A pass may take a tenth of the server's time.
local window = math.min(math.max(math.floor(length * cost / 100), 1000), 30000)
local till = covered and tonumber(covered) or 0
if length < least then return { length, till, passing, unlisted, window, 0, 0, 0 } end

local first, last = covered and '(' .. covered or '0', string.format('%.0f', now + window)
local head = {}
for _, member in ipairs(redis.call('lrange', Q, '0', near - 1)) do head[member] = true end
local seen, far = redis.call('zrangebyscore', T, first, last, 'limit', '0', sample), 0
for _, member in ipairs(seen) do
  if not head[member] then far = far + 1 end
end
return { length, till, passing, unlisted, window, redis.call('zcount', T, first, last), #seen, far }
