local to = ARGV[1]
if not other_layout[to] then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the layout')
end

-- The member in the layout, itself where it is that already, false where it is of
-- neither. Id, length and value stay: both layouts have them in this order.
local function repacked(member)
  local id, layout, size = packing_of(member, to)
  if not id then return false end
  if layout == to and size == 8 then return member end
  local packed = string.sub(member, id)
  if size == 4 then packed = string.sub(packed, 1, 12) .. '\0\0\0\0' .. string.sub(packed, 13) end
  return to == 'Bc0Lc0' and '\8' .. packed or packed
end
