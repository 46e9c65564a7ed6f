local D, T, Q, H, X = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local U1, U2 = KEYS[6], KEYS[7]
local now, horizon, limit, first = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

-- Wrong types are found before the first write.
for i, command in ipairs({ 'llen', 'zcard', 'llen', 'zcard', 'zcard', 'scard', 'scard' }) do
  local reply = redis.pcall(command, KEYS[i])
  if type(reply) == 'table' then return reply end
end

local coming = redis.call('zrangebyscore', T, 0, horizon, 'withscores', 'limit', 0, limit)
local held, members = {}, {}
for i = 1, #coming, 2 do
  members[#members + 1] = coming[i]
  held[i], held[i + 1] = coming[i + 1], coming[i]
end
call_with_all('zadd', H, held)
for _, member in ipairs(members) do
  -- A dq client may have taken it out of the list already.
  if redis.call('srem', U1, member) + redis.call('srem', U2, member) == 0 then
    redis.call('lrem', Q, 1, member)
  end
end
call_with_all('zrem', T, members)

local due = redis.call('zrangebyscore', H, 0, now, 'withscores', 'limit', 0, limit)
local gone, values, quarantined = {}, {}, {}
local delivered = { dLc0 = 0, Bc0Lc0 = 0 }
for i = 1, #due, 2 do
  local value, layout = unpack_any(due[i], first)
  gone[#gone + 1] = due[i]
  if value then
    values[#values + 1] = value
    delivered[layout] = delivered[layout] + 1
  else
    quarantined[#quarantined + 1] = due[i + 1]
    quarantined[#quarantined + 1] = due[i]
  end
end
call_with_all('zadd', X, quarantined)
call_with_all('rpush', D, values)
call_with_all('zrem', H, gone)

local next = redis.call('zrangebyscore', T, 0, '+inf', 'withscores', 'limit', 0, 1)
local head = redis.call('zrange', T, 0, 0, 'withscores')
local holding = redis.call('zrange', H, 0, 0, 'withscores')
return {
  next[2] or false, holding[2] or false, (head[2] and tonumber(head[2]) < 0) and 1 or 0,
  #members, delivered.dLc0, delivered.Bc0Lc0, #quarantined / 2, redis.call('zcard', H),
}
