local D, T, Q, X = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local S, U1, U2, V = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local now, limit, own = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if own ~= 'dLc0' and own ~= 'Bc0Lc0' then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the own layout')
end
if not limit or limit < 1 or limit > 10000 then
  return redis.error_reply('ERR expected a limit from 1 to 10000')
end

-- First everything is read, so that nothing can fail between two writes.
local members = redis.pcall('zrangebyscore', T, 0, now, 'limit', 0, limit)
if members.err then return members end
local values, of_other, plain = {}, 0, not S and #members <= 500
for i, member in ipairs(members) do
  local value, layout, size = unpack_any(member, own)
  values[i] = value or false
  if not value then plain = false elseif layout ~= own or size ~= 8 then of_other = of_other + 1 end
end

-- Most transfers end here. What is rare is below: a function costs a microsecond even if it is not called.
local length, head = 0, nil
if plain and #members > 0 then
  length = redis.pcall('llen', Q)
  local may = redis.acl_check_cmd
  plain = type(length) == 'number' and length < 10000 and may and may('lrem', Q, 1, '') and may('zrem', T, '')
  if plain then
    redis.call('rpush', D, unpack(values))
    for _, member in ipairs(members) do redis.call('lrem', Q, 1, member) end
    redis.call('zrem', T, unpack(members))
    members = {}
  end
end
if plain then
  head = redis.call('zrange', T, 0, 0, 'withscores')[2]
  if of_other == 0 and (not head or string.byte(head) ~= 45) then return head or false end
end
