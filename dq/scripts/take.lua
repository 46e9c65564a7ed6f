local D, M, L, V, N, X = unpack(KEYS)
local count, lease, stem = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local most, it = tonumber(ARGV[4]), ARGV[5]
local asked, enough, far = count, 4 * 1024 * 1024, 1000

-- Each key is read, and each right checked, before anything is written.
local wrong = error_of('zcard', L) or error_of('zcard', X) or error_of('llen', M) or error_of('llen', D) or error_of('hlen', V)
  or error_of('hlen', N) or error_of('zscore', L, '')
  or lacks('hincrby', N, '', '1') or lacks('zadd', L, '0', '') or lacks('hset', V, '', '') or lacks('hdel', V, '')
  or lacks('hdel', N, '') or lacks('zrem', L, '') or lacks('zadd', X, '0', '') or lacks('ltrim', D, '0', '-1') or lacks('ltrim', M, '0', '-1')
  or denied('hdel', V, '') or denied('zrem', L, '') or denied('ltrim', D, '0', '-1') or denied('ltrim', M, '0', '-1')
if wrong then return wrong end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ready = {[M] = redis.call('llen', M), [D] = redis.call('llen', D)}
local filled = ready[D] > 0 and D or ready[M] > 0 and M
wrong = filled and (denied('hset', filled, nobody, '') or denied('hincrby', filled, nobody, '1') or denied('zadd', filled, 'xx', '0', nobody))
if wrong then return wrong end

-- Which of the leases that are over are handed out. One that two holders in a row did not settle, or one before its last
-- attempt, is to be handled alone: it is claimed until no other is handled, and then asked for.
local chosen, spent, alone, claimed, at = {}, {}, #it > 1, nil, 0
if alone then
  local held = redis.call('zscore', L, it) and redis.call('hget', N, it) == ARGV[6] and redis.call('hget', N, 'f' .. it) ~= ARGV[6]
  count = held and math.min(count, 1) or 0
  chosen, at = {count > 0 and it or nil}, count
  if held and asked == 0 then redis.call('zadd', L, string.format('%.0f', now), it) end
end
while not alone do
  local page = redis.call('zrangebyscore', L, '-inf', now, 'limit', at, count)
  for _, id in ipairs(page) do
    local counts = redis.call('hmget', N, id, 'f' .. id)
    local times = tonumber(counts[1]) or 0
    local lost = times - (tonumber(counts[2]) or 0)
    if lost > 0 and most > 0 and times >= most then
      spent[#spent + 1] = {id, times, 2, ''}
    elseif lost < 2 and (lost < 1 or most == 0 or times + 1 < most) then
      if #chosen < count then chosen[#chosen + 1] = id end
    elseif it == '1' and not claimed then
      claimed = {id, times, 3, ''}
    end
  end
  at = at + #page
  if #page < count or #chosen == count or at >= count + far then break end
end

-- The first write frees something, if only in name: a server that is out of memory lets the others follow.
if at + ready[M] + ready[D] > 0 then redis.call('hdel', V, '') end
local till = string.format('%.0f', now + lease + 1) -- now is up to 1 ms ago
local handed, bytes, over = {}, 0, 0

local function hand(id, value)
  handed[#handed + 1] = {id, redis.call('hincrby', N, id, '1'), alone and 1 or 0, value}
  redis.call('zadd', L, till, id)
  bytes = bytes + #value
end

for _, id in ipairs(chosen) do
  local value = redis.call('hget', V, id)
  if bytes >= enough then
    over = over + 1
  elseif value then
    hand(id, value)
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
      hand(id, value)
    end
    from = from + #values
    -- As many as there is room for, if they are as large as those before.
    chunk = math.max(1, math.floor((enough - bytes) * #handed / math.max(bytes, 1)))
  end
  if from > 0 then redis.call('ltrim', list, from, '-1') end
  ready[list] = ready[list] - from
end
local first = #handed < asked and redis.call('zrangebyscore', L, '(' .. string.format('%.0f', now), '+inf', 'withscores', 'limit', '0', '1')[2]
local next = first and math.max(tonumber(first) - now, 0) or -1
if claimed then
  redis.call('zadd', L, till, claimed[1])
  handed[#handed + 1] = claimed
end
for _, entry in ipairs(spent) do
  local id = entry[1]
  redis.call('hset', V, 'r' .. id, 'lost by its worker in attempt ' .. entry[2] .. ' of ' .. most)
  redis.call('zadd', X, string.format('%.0f', now), id)
  redis.call('zrem', L, id)
  handed[#handed + 1] = entry
end
return {handed, next, ready[M] + ready[D] + over > 0 and 1 or 0}
