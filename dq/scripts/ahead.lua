local count, own = tonumber(ARGV[1]), ARGV[2]
if not other_layout[own] then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the own layout')
end
if not count or count < 1 or count > 10000 then
  return redis.error_reply('ERR expected a count from 1 to 10000')
end
local members = redis.pcall('zrange', KEYS[1], 0, count - 1)
if members.err then return members end

local foreign = 0
for _, member in ipairs(members) do
  if not id_in(member, own, 8) then foreign = foreign + 1 end
end
return foreign
