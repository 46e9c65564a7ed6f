local Q, T, other = KEYS[1], KEYS[2], KEYS[3]
local member, value = ARGV[1], ARGV[2]

-- Returned as the reply of the script, an error keeps its code on every server.
local function error_of(command, key)
  local reply = redis.pcall(command, key)
  return type(reply) == 'table' and reply or nil
end
local wrong = error_of('llen', Q) or error_of('zcard', T) or error_of('llen', other)
if wrong then return wrong end

-- From the tail, where the member was read and where Redisson takes it.
if redis.call('lrem', Q, -1, member) == 0 then return 0 end
local pushed = redis.pcall('lpush', other, value)
if type(pushed) == 'table' then
  redis.call('rpush', Q, member)
  return pushed
end
redis.call('zrem', T, member)
return 1
