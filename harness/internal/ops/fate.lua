-- The string R has the fates of a run's changes. Byte n is the digit of change n, and u once it is undone; a blank is a change that its
-- call did not reach, and NUL one whose fate the server has lost. Byte 0 is c once the run may make no more. C is R of the run that this
-- one undoes; without one it is R.
local F, R, C = KEYS[#KEYS - 2], KEYS[#KEYS - 1], KEYS[#KEYS]

-- A migration stamps F with its run and the number of its last change, under members if that changed a layout, and under values if it
-- changed a value.
local function change_id(number) return string.match(R, '[^:]+$') .. ' ' .. number end
local function stamp(field, number)
  redis.call('hset', F, field, change_id(number))
  redis.call('expire', F, 2592000)
end
local function stamped(field, since)
  local now = redis.call('hget', F, field)
  return now and now ~= since
end

local function fate(key, number) return redis.call('getrange', key, number, number) end

-- Makes a change once, whichever try of its call this is; what it undoes is undone once, whoever undoes it. A later undo may try again
-- after 0.
local function once(number, undone, make)
  local known = fate(R, number)
  if string.find(known, '%d') then return known end
  local may_make = C == R or fate(C, undone) == '1'
  known = may_make and make() or '0'
  redis.call('setrange', R, number, known)
  if C ~= R and known ~= '0' then redis.call('setrange', C, undone, 'u') end
  return known
end

-- The first write, for a call with changes from a number on: R gets its length now, for it may be more than the server allows. It
-- returns the refusal of a run that has ended, or that would bring back values as they were before a migration.
local function begin(number, count, values)
  if fate(R, 0) == 'c' then return redis.error_reply('ERR these changes are being undone, or their command has given up') end
  if C ~= R and stamped('values', values) then return redis.error_reply('ERR the values of the queue are being migrated') end
  if fate(R, number + count - 1) == '' then redis.call('setrange', R, number, string.rep(' ', count)) end
  redis.call('setrange', R, 0, 'o')
end

