-- What every script of ours that reads members begins with.

local other_layout = { dLc0 = 'Bc0Lc0', Bc0Lc0 = 'dLc0' }

-- Where the id begins in a member that is exactly as long as its length field says,
-- which is of 8 bytes, or of 4 where a Redis built for Windows has packed it.
local function id_in(member, layout, size)
  local id = 1
  if layout == 'Bc0Lc0' then
    if string.byte(member) ~= 8 then return nil end
    id = 2
  end
  local at = id + 8
  local length = #member - (at + size - 1)
  if length < 0 or struct.unpack('<I4', member, at) ~= length then return nil end
  if size == 8 and struct.unpack('<I4', member, at + 4) ~= 0 then return nil end
  return id
end

-- The first that fits of the four ways to pack a member, the own layout before the other:
-- where the id begins, the layout and the size of the length field, or nothing.
local function packing_of(member, own)
  local id = id_in(member, own, 8)
  if id then return id, own, 8 end
  local other = other_layout[own]
  id = id_in(member, other, 8)
  if id then return id, other, 8 end
  id = id_in(member, own, 4)
  if id then return id, own, 4 end
  id = id_in(member, other, 4)
  if id then return id, other, 4 end
end

-- The value of a member, its layout and the size of its length field, or nothing.
local function unpack_any(member, own)
  local id, layout, size = packing_of(member, own)
  if id then return string.sub(member, id + 8 + size), layout, size end
end

