-- error_of a command that fails where its key is of a wrong type; it names both.
local function wrong_type(command, key)
  local wrong = error_of(command, key)
  return wrong and redis.error_reply(wrong.err .. ': ' .. string.upper(command) .. ' ' .. key) or nil
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
