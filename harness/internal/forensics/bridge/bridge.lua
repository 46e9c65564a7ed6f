local D, T, Q, H, X = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local U1, U2 = KEYS[6], KEYS[7]
local now, horizon, limit, first = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

-- Wrong types are found before the first write. Without the last three keys all is done but what is
-- done with them.
local usable, wrong = {}, {}
for i, command in ipairs({ 'llen', 'zcard', 'llen', 'zcard', 'zcard', 'scard', 'scard' }) do
  local reply = redis.pcall(command, KEYS[i])
  usable[KEYS[i]] = type(reply) ~= 'table'
  if type(reply) == 'table' then
    local text = reply.err .. ': ' .. string.upper(command) .. ' ' .. KEYS[i]
    if i <= 4 or not string.find(reply.err, 'WRONGTYPE') then return redis.error_reply(text) end
    wrong[#wrong + 1] = text
  end
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
  local unlisted = 0
  for _, key in ipairs({ U1, U2 }) do
    if usable[key] then unlisted = unlisted + redis.call('srem', key, member) end
  end
  if unlisted == 0 then redis.call('lrem', Q, 1, member) end
end
call_with_all('zrem', T, members)

local gone, values, quarantined, kept = {}, {}, {}, 0
local delivered = { dLc0 = 0, Bc0Lc0 = 0 }
local seen, last = 0, false
repeat
  local due = redis.call('zrangebyscore', H, 0, now, 'withscores', 'limit', seen, limit)
  seen, last = seen + #due / 2, #due / 2 < limit
  for i = 1, #due, 2 do
    local value, layout = unpack_any(due[i], first)
    if value then
      gone[#gone + 1] = due[i]
      values[#values + 1] = value
      delivered[layout] = delivered[layout] + 1
    elseif usable[X] then
      gone[#gone + 1] = due[i]
      quarantined[#quarantined + 1] = due[i + 1]
      quarantined[#quarantined + 1] = due[i]
    else
      kept = kept + 1
    end
  end
  -- Behind some that are kept there may be others.
until last or kept == 0 or #values >= limit or seen >= 20 * limit
call_with_all('zadd', X, quarantined)
call_with_all('rpush', D, values)
call_with_all('zrem', H, gone)

local next = redis.call('zrangebyscore', T, 0, '+inf', 'withscores', 'limit', 0, 1)
local head = redis.call('zrange', T, 0, 0, 'withscores')
local holding = redis.call('zrange', H, 0, 0, 'withscores')
if kept > 0 then
  local more = not last and #values > 0
  holding = redis.call('zrangebyscore', H, more and 0 or '(' .. now, '+inf', 'withscores', 'limit', 0, 1)
end
return {
  next[2] or false, holding[2] or false, (head[2] and tonumber(head[2]) < 0) and 1 or 0,
  #members, delivered.dLc0, delivered.Bc0Lc0, #quarantined / 2, redis.call('zcard', H),
  #wrong > 0 and table.concat(wrong, '; ') or false, kept,
}
