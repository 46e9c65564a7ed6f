local D, T, Q, H, X, U1, U2 = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local nobody = 'dq-bench bridge: no such member'

for _, call in ipairs({
  { 'zadd', H, 'xx', 0, nobody }, { 'zrem', H, nobody }, { 'zrem', T, nobody },
  { 'zadd', X, 'xx', 0, nobody }, { 'srem', U1, nobody }, { 'srem', U2, nobody }, { 'llen', D },
  { 'zrangebyscore', T, 0, 0, 'limit', 0, 0 }, { 'zrange', H, 0, 0 }, { 'zcard', H },
}) do
  local reply = redis.pcall(unpack(call))
  -- Keys of a wrong type can be mended, and memory be freed, while a bridge runs.
  if type(reply) == 'table' and reply.err and not string.find(reply.err, 'WRONGTYPE') and not string.find(reply.err, '^%-?OOM') then
    return redis.error_reply(reply.err .. ': ' .. call[1] .. ' ' .. call[2])
  end
end
-- Only a server since Redis 7 tells beforehand of a command that does something, or takes long.
if redis.acl_check_cmd then
  for key, command in pairs({ [D] = { 'rpush', D, nobody }, [Q] = { 'lrem', Q, 1, nobody } }) do
    if not redis.acl_check_cmd(unpack(command)) then
      return redis.error_reply('NOPERM this user may not ' .. command[1] .. ' ' .. key)
    end
  end
end
return 1
