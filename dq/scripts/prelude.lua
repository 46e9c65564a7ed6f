-- What every script of ours that reads members begins with.

-- Where the id begins in a member that is exactly as long as its length field says,
-- which is of 8 bytes, or of 4 where a Redis built for Windows has packed it.
local function id_in(member, layout, size)
  local id = layout == 'Bc0Lc0' and 2 or 1
  local length = #member - (id + 7 + size)
  if length < 0 or id == 2 and string.byte(member) ~= 8 then return nil end
  local low, high = struct.unpack(size == 8 and '<I4I4' or '<I4', member, id + 8)
  if low == length and (size == 4 or high == 0) then return id end
end

-- The value of a member, its layout and the size of its length field, or nothing: the first that fits of the four ways
-- to pack a member, the own layout before the other.
local function unpack_any(member, own)
  local layout, size, other = own, 8, own == 'dLc0' and 'Bc0Lc0' or 'dLc0'
  local id = id_in(member, own, 8)
  if not id then layout, id = other, id_in(member, other, 8) end
  if not id then layout, size, id = own, 4, id_in(member, own, 4) end
  if not id then layout, id = other, id_in(member, other, 4) end
  if id then return string.sub(member, id + 8 + size), layout, size end
end

