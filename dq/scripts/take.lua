local D, M, L, V, N = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local count, lease, stem = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local asked, enough = count, 4 * 1024 * 1024

-- Each key is read before anything is written: one of another type ends the script here.
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local over = redis.call('zrangebyscore', L, '-inf', now, 'limit', 0, count)
local ready = {[M] = redis.call('llen', M), [D] = redis.call('llen', D)}
redis.call('hlen', V)
redis.call('hlen', N)
local till = string.format('%.0f', now + lease)
local handed, bytes = {}, 0

local function hand(id, value, lost)
  handed[#handed + 1] = {id, redis.call('hincrby', N, id, 1), lost and 1 or 0, value}
  redis.call('zadd', L, till, id)
  bytes = bytes + #value
end

for _, id in ipairs(over) do
  local value = redis.call('hget', V, id)
  local lost = redis.call('hget', N, id) ~= redis.call('hget', N, 'f' .. id)
  if bytes >= enough or (lost and #handed > 0) then break end
  if value then
    hand(id, value, lost)
    if lost then count = #handed end
  else
    redis.call('zrem', L, id)
    redis.call('hdel', N, id, 'f' .. id)
  end
end
-- Values leave their list last: if that fails they come twice, and are not lost.
for _, list in ipairs({M, D}) do
  local from, chunk = 0, 1
  while from < ready[list] and #handed < count and bytes < enough do
    local values = redis.call('lrange', list, from, from + math.min(count - #handed, chunk) - 1)
    for _, value in ipairs(values) do
      local id = stem .. string.format('%04x', #handed)
      redis.call('hset', V, id, value)
      hand(id, value, false)
    end
    from = from + #values
    -- As many as there is room for, if they are as large as those before.
    chunk = math.max(1, math.floor((enough - bytes) * #handed / math.max(bytes, 1)))
  end
  if from > 0 then redis.call('ltrim', list, from, -1) end
  ready[list] = ready[list] - from
end
local first = #handed < asked and redis.call('zrange', L, 0, 0, 'withscores')[2]
local next = first and math.max(tonumber(first) - now, 0) or -1
return {handed, next, ready[M] + ready[D] > 0 and 1 or 0}
