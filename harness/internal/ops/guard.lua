local D, T, Q, H, X = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local U = { KEYS[6], KEYS[7], KEYS[8] }
local now, horizon, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

-- Everything that can be refused is found before the first write.
local wrong = error_of('llen', D) or error_of('llen', Q) or error_of('zcard', H) or error_of('zcard', X)
for _, key in ipairs(U) do wrong = wrong or error_of('scard', key) end
if wrong then return wrong end
if redis.acl_check_cmd then
  for _, call in ipairs({ { 'rpush', D, '' }, { 'lrem', Q, 1, '' }, { 'zrem', T, '' }, { 'zadd', H, 0, '' }, { 'zrem', H, '' }, { 'zadd', X, 0, '' }, { 'srem', U[1], '' }, { 'set', KEYS[9], '' }, { 'zrange', H, 0, 0 }, { 'zrangebyscore', H, 0, 0 } }) do
    if not redis.acl_check_cmd(unpack(call)) then return redis.error_reply('NOPERM this user may not ' .. string.upper(call[1]) .. ' ' .. call[2]) end
  end
end
local filled = redis.call('exists', T) == 1 and T or redis.call('exists', H) == 1 and H
wrong = filled and (denied('rpush', filled, nobody) or denied('lrem', filled, 1, nobody) or denied('srem', filled, nobody)
  or denied('zrem', filled, nobody) or denied('zadd', filled, 'xx', 0, nobody))
if wrong then return wrong end

local coming = horizon < 0 and {} or redis.call('zrangebyscore', T, 0, horizon, 'withscores', 'limit', 0, limit)
local members, held = {}, {}
for i = 1, #coming, 2 do
  members[#members + 1] = coming[i]
  held[#held + 1] = coming[i + 1]
  held[#held + 1] = coming[i]
end

-- A transfer of Redisson's that fails at a member has pushed the values before it, took their members out of Q and left
-- them in T. Where the member that one side fails at is due and still in Q, those before it that are not in Q were
-- delivered. Members that are missing from Q for another reason stand before no such member.
local pushed = 0
for _, layout in ipairs({ 'dLc0', 'Bc0Lc0' }) do
  for i, member in ipairs(members) do
    if tonumber(coming[2 * i]) > now then break end
    if not pcall(struct.unpack, layout, member) then
      local at = i > pushed + 1 and redis.pcall('lpos', Q, member) or false
      if at then pushed = i - 1 end
      break
    end
  end
end

call_with_all('zadd', H, held)
if horizon > now or horizon < 0 then redis.call('set', KEYS[9], now, 'px', horizon < 0 and 1 or 3000) end -- two guards step four times a second
local delivered = {}
for i, member in ipairs(members) do
  local listed = 0
  for _, key in ipairs(U) do listed = listed + redis.call('srem', key, member) end
  if listed == 0 then listed = redis.call('lrem', Q, 1, member) end
  if listed == 0 and i <= pushed then delivered[#delivered + 1] = member end
end
call_with_all('zrem', T, members)
call_with_all('zrem', H, delivered)

local gone, values, aside, of = {}, {}, {}, { dLc0 = 0, Bc0Lc0 = 0 }
local due = redis.call('zrangebyscore', H, 0, now, 'withscores', 'limit', 0, limit)
for i = 1, #due, 2 do
  gone[#gone + 1] = due[i]
  local value, layout = unpack_any(due[i], 'Bc0Lc0')
  if value then
    values[#values + 1] = value
    of[layout] = of[layout] + 1
  else
    aside[#aside + 1] = due[i + 1]
    aside[#aside + 1] = due[i]
  end
end
call_with_all('zadd', X, aside)
call_with_all('rpush', D, values)
call_with_all('zrem', H, gone)

local next = redis.call('zrangebyscore', T, 0, '+inf', 'withscores', 'limit', 0, 1)
local holding = redis.call('zrange', H, 0, 0, 'withscores')
return { next[2] or false, holding[2] or false, redis.call('zcard', H), #members, #delivered, of.dLc0, of.Bc0Lc0, #aside / 2 }
