local to = ARGV[1]
local others = { dLc0 = 'Bc0Lc0', Bc0Lc0 = 'dLc0' }
if not others[to] then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the layout')
end

-- Where the id begins in a member that is exactly as long as its length field says.
local function fits(member, layout, size)
  local id = 1
  if layout == 'Bc0Lc0' then
    if string.byte(member) ~= 8 then return nil end
    id = 2
  end
  local at = id + 8
  local length = #member - (at + size - 1)
  if length < 0 or struct.unpack('<I4', member, at) ~= length then return nil end
  if size == 8 and struct.unpack('<I4', member, at + 4) ~= 0 then return nil end
  return id
end

-- The member in the layout, itself where it is that already, false where it is of
-- neither. Id, length and value stay: both layouts have them in this order.
local function repacked(member)
  if fits(member, to, 8) then return member end
  local packed
  local id = fits(member, others[to], 8)
  if id then
    packed = string.sub(member, id)
  else
    id = fits(member, to, 4) or fits(member, others[to], 4)
    if not id then return false end
    packed = string.sub(member, id, id + 11) .. '\0\0\0\0' .. string.sub(member, id + 12)
  end
  return to == 'Bc0Lc0' and '\8' .. packed or packed
end

-- Returned as the reply of the script, an error keeps its code on every server.
local function error_of(...)
  local reply = redis.pcall(...)
  return type(reply) == 'table' and reply.err and reply or nil
end

-- An error if one of these writes is refused, for want of memory or of a right: they
-- change nothing, and behind them nothing can fail halfway. Only a server since Redis 7
-- tells beforehand whether one may push.
local nobody = 'dq-bench migrate: no such member'
local function refused(T, Q, X, push, list)
  local wrong = error_of('zadd', T, 'xx', 0, nobody) or error_of('zrem', T, nobody)
  if wrong or not Q then return wrong end
  wrong = error_of('zadd', X, 'xx', 0, nobody) or error_of('lrem', Q, 1, nobody)
  if not wrong and redis.acl_check_cmd and not redis.acl_check_cmd(push, list, nobody) then
    return redis.error_reply('NOPERM this user may not ' .. push .. ' to ' .. list)
  end
  return wrong
end
