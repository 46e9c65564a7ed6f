local Q, T = KEYS[1], KEYS[2]

-- Returned as the reply of the script, an error keeps its code on every server.
local wrong = redis.pcall('llen', Q)
if type(wrong) == 'table' then return wrong end
wrong = redis.pcall('zcard', T)
if type(wrong) == 'table' then return wrong end

local taken = {}
for i, member in ipairs(ARGV) do
  taken[i] = redis.call('lrem', Q, 1, member)
  if taken[i] == 1 then redis.call('zrem', T, member) end
end
return taken
