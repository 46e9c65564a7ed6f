local count, own = tonumber(ARGV[1]), ARGV[2]
if own ~= 'dLc0' and own ~= 'Bc0Lc0' then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the own layout')
end
if not count or count < 1 or count > 10000 then
  return redis.error_reply('ERR expected a count from 1 to 10000')
end
local members = redis.pcall('zrange', KEYS[1], 0, count - 1)
if members.err then return members end

-- A member is of the own layout when it is as long as its length field says.
local number, byte = struct.unpack, string.byte
local at = own == 'dLc0' and 9 or 10
local before = at + 7
local foreign = 0
for _, member in ipairs(members) do
  local length = #member - before
  if length < 0 or at == 10 and byte(member) ~= 8 or
      number('<I4', member, at) ~= length or number('<I4', member, at + 4) ~= 0 then
    foreign = foreign + 1
  end
end
return foreign
