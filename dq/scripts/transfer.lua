local D, T, Q, X = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local S, U1, U2, V = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local now, limit, own, failed = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
if not other_layout[own] then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the own layout')
end
if not limit or limit < 1 or limit > 10000 then
  return redis.error_reply('ERR expected a limit from 1 to 10000')
end

-- First everything is read, so that nothing can fail between two writes.
local wrong = error_of('zcard', T)
if not wrong and S then
  wrong = error_of('hlen', S) or error_of('scard', U1) or error_of('scard', U2) or error_of('scard', V)
end
if wrong then return wrong end

-- What the failed transfer went through: all up to the member that it stopped at,
-- and some more, since an offer may have come in before that one meanwhile.
local members, scores, readable = {}, {}, {}
local stop, last = nil, failed == '' and 0 or 10000
while #members < last do
  local page = redis.call('zrangebyscore', T, 0, failed, 'withscores', 'limit', #members, 100)
  for k = 1, #page, 2 do
    if #members == last then break end
    local i = #members + 1
    members[i], scores[i], readable[i] = page[k], page[k + 1], (pcall(struct.unpack, own, page[k]))
    if not readable[i] and not stop then
      stop, last = i, math.min(last, i + 100)
    end
  end
  if #page < 200 then break end
end
local suspects = #members
local page = redis.call('zrangebyscore', T, 0, now, 'withscores', 'limit', suspects, limit)
for k = 1, #page, 2 do
  local i = #members + 1
  members[i], scores[i] = page[k], page[k + 1]
end

-- Which members a pass of unlist has taken out of Q before they were due, and which one
-- that is under way is going to.
local covered, unlisted, leaving = nil, {}, nil
if S then
  covered = tonumber(redis.call('hget', S, 'covered') or nil)
  for _, key in ipairs({ U1, U2 }) do
    if redis.call('exists', key) == 1 then unlisted[#unlisted + 1] = key end
  end
  leaving = redis.call('exists', V) == 1
end

-- From which end LREM should look for a member, which it walks Q for. In a long list both are
-- tried: the first 1000 entries, where those of equal delays are, and the last sixteenth, where
-- short delays among long ones are. To look there in vain adds as much to a whole walk. Redis before
-- 6.0.6 has no LPOS.
local both, length = true, nil
local function nearer_end(member)
  length = length or redis.call('llen', Q)
  if not both or length < 10000 then return 1 end
  local at = redis.pcall('lpos', Q, member, 'maxlen', 1000)
  if type(at) == 'table' then both = false end
  if at then return 1 end
  at = redis.pcall('lpos', Q, member, 'rank', -1, 'maxlen', math.floor(length / 16))
  return type(at) == 'number' and -1 or 1
end

-- Takes a member out of Q, and reports whether it was there, or out of it already. One
-- that is due within what a pass has covered was offered since, and is near the tail.
local function unlist(member, score)
  for _, key in ipairs(unlisted) do
    if redis.call('srem', key, member) == 1 then return true end
  end
  if leaving then redis.call('srem', V, member) end
  local from = covered and tonumber(score) <= covered and -1 or nearer_end(member)
  return redis.call('lrem', Q, from, member) == 1
end

local delivered, of_other, quarantined, already = {}, 0, {}, 0
if #members > 0 then
  local values, foreign = {}, {}
  local unreadable = false
  for i, member in ipairs(members) do
    local value, layout, size = unpack_any(member, own)
    values[i], foreign[i] = value or false, layout ~= own or size ~= 8
    unreadable = unreadable or not value
  end
  wrong = error_of('llen', D) or error_of('llen', Q) or unreadable and X and error_of('zcard', X)
  if wrong then return wrong end
  if redis.acl_check_cmd and not (redis.acl_check_cmd('rpush', D, '') and redis.acl_check_cmd('lrem', Q, 1, '')
      and redis.acl_check_cmd('zrem', T, '') and (not S or redis.acl_check_cmd('srem', U1, ''))) then
    return redis.error_reply('NOPERM this user lacks RPUSH, LREM, ZREM or SREM, or the keys for them')
  end

  -- The first write is the last that may fail, for want of memory or of a right.
  local taken = 0
  for i = 1, suspects do
    taken = i
    if (values[i] or X) and not unlist(members[i], scores[i]) then
      -- Nobody of this layout has pushed this one: Q itself has lost members.
      if not readable[i] then break end
      already = already + 1
      values[i] = nil
    end
  end
  local gone = {}
  for i, member in ipairs(members) do
    local value = values[i]
    if value then
      delivered[#delivered + 1] = value
      if foreign[i] then of_other = of_other + 1 end
    elseif value == false and X then
      quarantined[#quarantined + 1] = scores[i]
      quarantined[#quarantined + 1] = member
    end
    -- Where nothing may be set aside, what nobody can read stays.
    if value ~= false or X then gone[#gone + 1] = member end
  end
  call_with_all('zadd', X, quarantined)
  call_with_all('rpush', D, delivered)
  for i = taken + 1, #members do
    if values[i] ~= false or X then unlist(members[i], scores[i]) end
  end
  call_with_all('zrem', T, gone)
end

local head = redis.call('zrange', T, 0, 0, 'withscores')
return { head[2] or false, #delivered, of_other, #quarantined / 2, already }
