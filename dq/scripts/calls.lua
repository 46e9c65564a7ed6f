-- What every script of ours begins with that writes.

-- Returned as the reply of the script, an error keeps its code on every server.
local function error_of(...)
  local reply = redis.pcall(...)
  return type(reply) == 'table' and reply.err and reply or nil
end

-- redis.call for any number of arguments: 500 at a time, in order. Returns the sum of the replies.
local function call_with_all(command, key, arguments)
  local sum = 0
  for i = 1, #arguments, 500 do
    sum = sum + redis.call(command, key, unpack(arguments, i, math.min(i + 499, #arguments)))
  end
  return sum
end

-- The refusal of a call that the user lacks a right to, or nothing. Redis before 7 cannot say: see denied.
local may = redis.acl_check_cmd
local function lacks(command, key, ...)
  if may and not may(command, key, ...) then
    return redis.error_reply('NOPERM this user lacks ' .. string.upper(command) .. ' of ' .. key)
  end
end

-- Before Redis 7 a call that changes nothing shows a missing right: of a key of another type, or of no such member.
local nobody = 'dq: no such member'
local function denied(command, key, ...)
  local wrong = not may and error_of(command, key, ...)
  if not wrong or string.find(wrong.err, 'WRONGTYPE', 1, true) then return nil end
  local forbidden = string.find(wrong.err, "the script can't", 1, true)
  return forbidden and redis.error_reply('NOPERM this user lacks ' .. string.upper(command)) or wrong
end

