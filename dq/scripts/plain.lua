local D, T, Q, X = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local S, U1, U2, V = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local now, limit, own = ARGV[1], ARGV[2], ARGV[3]
if own ~= 'dLc0' and own ~= 'Bc0Lc0' then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the own layout')
end
local most = tonumber(limit)
if not most or most < 1 or most > 10000 then
  return redis.error_reply('ERR expected a limit from 1 to 10000')
end

-- First everything is read, so that nothing can fail between two writes. Numbers are strings: Redis prints one of Lua with 17 digits,
-- which costs as much as a fast command.
local members = redis.pcall('zrangebyscore', T, '0', now, 'limit', '0', limit)
if members.err then return members end
local plain, head, length, values, of_other = not S and #members <= 500, nil, 0, {}, 0

-- Most transfers end here. What is rare is below: a function costs a microsecond even if it is not called.
if plain and #members > 0 then
  local at = own == 'Bc0Lc0' and 10 or 9 -- where the length field begins: see id_in
  for i, member in ipairs(members) do
    local low, high
    if #member >= at + 7 and (at == 9 or string.byte(member) == 8) then low, high = struct.unpack('<I4I4', member, at) end
    if high ~= 0 or low ~= #member - at - 7 then plain = false break end
    values[i] = string.sub(member, at + 8)
  end
  length = plain and redis.pcall('llen', Q)
  local may = redis.acl_check_cmd
  local granted = may and may('lrem', Q, '1', '') and may('zrem', T, '')
  if type(length) ~= 'number' or length >= 10000 or not granted then plain = false end
  if plain then
    redis.call('rpush', D, unpack(values))
    for _, member in ipairs(members) do redis.call('lrem', Q, '1', member) end
    redis.call('zrem', T, unpack(members))
    members = {}
  end
end
if plain then
  head = redis.call('zrange', T, '0', '0', 'withscores')[2]
  if not head or string.byte(head) ~= 45 then return head or false end
end

