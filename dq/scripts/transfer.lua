
for i, member in ipairs(members) do
  local value, layout, size = unpack_any(member, own)
  values[i] = value or false
  if value and (layout ~= own or size ~= 8) then of_other = of_other + 1 end
end

-- Which members a pass of unlist has taken out of Q before they were due, and which one
-- that is under way is going to. Most queues are too short for any.
local covered, unlisted, leaving = nil, nil, false
if S and redis.call('exists', S, U1, U2, V) > 0 then
  local wrong = error_of('hlen', S) or error_of('scard', U1) or error_of('scard', U2) or error_of('scard', V)
  if wrong then return wrong end
  covered, unlisted = tonumber(redis.call('hget', S, 'covered') or nil), {}
  for _, key in ipairs({ U1, U2 }) do
    if redis.call('exists', key) == 1 then unlisted[#unlisted + 1] = key end
  end
  leaving = redis.call('exists', V) == 1
end

local delivered, quarantined = {}, {}
if #members > 0 then
  local scored -- the members and their scores: read only if they count, for the text of a score is dear
  for i, member in ipairs(members) do
    if covered or not values[i] then scored = scored or redis.call('zrangebyscore', T, '0', now, 'withscores', 'limit', '0', limit) end
    if values[i] then
      delivered[#delivered + 1] = values[i]
    else
      quarantined[#quarantined + 1] = scored[2 * i]
      quarantined[#quarantined + 1] = member
    end
  end
  length = redis.pcall('llen', Q)
  local wrong = type(length) == 'table' and length or lacks('lrem', Q, '1', '') or lacks('zrem', T, '')
    or unlisted and lacks('srem', U1, '')
  if not wrong and not may then wrong = denied('lrem', T, '1', nobody) or denied('zrem', T, nobody) or unlisted and denied('srem', T, nobody) end
  if not wrong and #quarantined > 0 then
    wrong = error_of('llen', D) or error_of('zcard', X) or lacks('rpush', D, '') or lacks('zadd', X, '0', '') or denied('rpush', T, nobody)
  end
  if wrong then return wrong end

  -- The first write is the last that may fail, for want of memory or of a right.
  call_with_all('zadd', X, quarantined)
  call_with_all('rpush', D, delivered)
  if not unlisted and length < 10000 then
    for _, member in ipairs(members) do redis.call('lrem', Q, '1', member) end
  else
    -- From which end LREM should look for a member, which it walks Q for. In a long list both are
    -- tried: the first 1000 entries, where those of equal delays are, and the last sixteenth, where
    -- short delays among long ones are. To look there in vain adds as much to a whole walk. Redis before
    -- 6.0.6 has no LPOS.
    local both = length >= 10000
    local function nearer_end(member)
      if not both then return 1 end
      local at = redis.pcall('lpos', Q, member, 'maxlen', '1000')
      if type(at) == 'table' then both = false end
      if at then return 1 end
      at = redis.pcall('lpos', Q, member, 'rank', '-1', 'maxlen', math.floor(length / 16))
      return type(at) == 'number' and -1 or 1
    end

    -- Takes a member out of Q, unless it is out of it already. One that is due within what a pass has covered was offered
    -- since, and is near the tail.
    local function unlist(i, member)
      for _, key in ipairs(unlisted or {}) do
        if redis.call('srem', key, member) == 1 then return end
      end
      if leaving then redis.call('srem', V, member) end
      redis.call('lrem', Q, covered and tonumber(scored[2 * i]) <= covered and -1 or nearer_end(member), member)
    end
    for i, member in ipairs(members) do unlist(i, member) end
  end
  call_with_all('zrem', T, members)
end

head = redis.call('zrange', T, '0', '0', 'withscores')[2]
local stuck = head and tonumber(head) < 0
if stuck then head = redis.call('zrangebyscore', T, '0', '+inf', 'withscores', 'limit', '0', '1')[2] end
-- What is left of members that were unlisted came another way, or was cleared.
if unlisted and covered and (not head or tonumber(head) > covered) then redis.pcall('unlink', unpack(unlisted)) end
return { head or false, of_other, #quarantined / 2, stuck and 1 or 0 }
