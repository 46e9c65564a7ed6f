local Q, T = KEYS[1], KEYS[2]

-- Returned as the reply of the script, an error keeps its code on every server.
local wrong = redis.pcall('llen', Q)
if type(wrong) == 'table' then return wrong end
wrong = redis.pcall('zcard', T)
if type(wrong) == 'table' then return wrong end

local taken = {}
for i, member in ipairs(ARGV) do
  local listed = redis.call('lrem', Q, 1, member)
  local timed = redis.call('zrem', T, member)
  taken[i] = listed == 1 and 1 or timed == 1 and 2 or 0
end
return taken
