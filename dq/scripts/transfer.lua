local D, T, Q, X = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now, limit, own, failed = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local others = { dLc0 = 'Bc0Lc0', Bc0Lc0 = 'dLc0' }
if not others[own] then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the own layout')
end
if not limit or limit < 1 or limit > 10000 then
  return redis.error_reply('ERR expected a limit from 1 to 10000')
end

-- The value of a member that is exactly as long as its length field says.
local function read(member, layout, size)
  local at = 9
  if layout == 'Bc0Lc0' then
    if string.byte(member) ~= 8 then return nil end
    at = 10
  end
  local length = #member - (at + size - 1)
  if length < 0 or struct.unpack('<I4', member, at) ~= length then return nil end
  if size == 8 and struct.unpack('<I4', member, at + 4) ~= 0 then return nil end
  return string.sub(member, at + size)
end

-- The value, or false, and whether Redisson of the own release cannot read it.
local function unpack_any(member)
  local value = read(member, own, 8)
  if value then return value, false end
  return read(member, others[own], 8) or read(member, own, 4) or read(member, others[own], 4) or false, true
end

-- redis.call for any number of arguments: 500 at a time, in order.
local function call_with_all(command, key, arguments)
  for i = 1, #arguments, 500 do
    redis.call(command, key, unpack(arguments, i, math.min(i + 499, #arguments)))
  end
end

-- Returned as the reply of the script, an error keeps its code on every server.
local function error_of(command, key)
  local reply = redis.pcall(command, key)
  return type(reply) == 'table' and reply or nil
end

-- First everything is read, so that nothing can fail between two writes.
local wrong = error_of('zcard', T)
if wrong then return wrong end

-- What the failed transfer went through: all up to the member that it stopped at,
-- and some more, since an offer may have come in before that one meanwhile.
local members, readable = {}, {}
local stop, last = nil, failed == '' and 0 or 10000
while #members < last do
  local page = redis.call('zrangebyscore', T, 0, failed, 'limit', #members, 100)
  for _, member in ipairs(page) do
    if #members == last then break end
    local i = #members + 1
    members[i], readable[i] = member, (pcall(struct.unpack, own, member))
    if not readable[i] and not stop then
      stop, last = i, math.min(last, i + 100)
    end
  end
  if #page < 100 then break end
end
local suspects = #members
for _, member in ipairs(redis.call('zrangebyscore', T, 0, now, 'limit', suspects, limit)) do
  members[#members + 1] = member
end

local delivered, of_other, quarantined, already = {}, 0, {}, 0
if #members > 0 then
  local values, foreign = {}, {}
  local unreadable = false
  for i, member in ipairs(members) do
    values[i], foreign[i] = unpack_any(member)
    unreadable = unreadable or not values[i]
  end
  wrong = error_of('llen', D) or error_of('llen', Q) or unreadable and X and error_of('zcard', X)
  if wrong then return wrong end
  if redis.acl_check_cmd and not (redis.acl_check_cmd('rpush', D, '') and redis.acl_check_cmd('lrem', Q, 1, '')
      and redis.acl_check_cmd('zrem', T, '')) then
    return redis.error_reply('NOPERM this user lacks RPUSH, LREM or ZREM, or the keys for them')
  end

  -- The first write is the last that may fail, for want of memory or of a right.
  local unlisted = 0
  for i = 1, suspects do
    unlisted = i
    if (values[i] or X) and redis.call('lrem', Q, 1, members[i]) == 0 then
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
      quarantined[#quarantined + 1] = redis.call('zscore', T, member)
      quarantined[#quarantined + 1] = member
    end
    -- Where nothing may be set aside, what nobody can read stays.
    if value ~= false or X then gone[#gone + 1] = member end
  end
  call_with_all('zadd', X, quarantined)
  call_with_all('rpush', D, delivered)
  for i = unlisted + 1, #members do
    if values[i] ~= false or X then redis.call('lrem', Q, 1, members[i]) end
  end
  call_with_all('zrem', T, gone)
end

local head = redis.call('zrange', T, 0, 0, 'withscores')
return { head[2] or false, #delivered, of_other, #quarantined / 2, already }
