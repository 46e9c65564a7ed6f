local L, J, T, P, U1, U2 = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local listed, first, codec, seconds = ARGV[1] == 'list', tonumber(ARGV[2]), ARGV[3], ARGV[4]
local count = (#ARGV - 4) / 3
local wrong = wrong_type('hlen', J) or listed and wrong_type('llen', L) or T and wrong_type('zcard', T)
  or U1 and (wrong_type('scard', U1) or wrong_type('scard', U2))
if wrong then return wrong end

local function triple(i) return ARGV[3 * i + 2], ARGV[3 * i + 3], ARGV[3 * i + 4] == 'both' end
local prefix = T and 'T' or 'D'

-- Where the entries are: others that were before them may be gone.
local far, there, index = 64, {}, {}
if listed then
  local from = math.max(0, first - far)
  there = redis.call('lrange', L, from, first + count - 1)
  local shift = first - from
  for back = 0, shift do
    if there[shift - back + 1] == triple(1) then
      shift = shift - back
      break
    end
  end
  for i = 1, count do
    if there[shift + i] == triple(i) then index[i] = from + shift + i - 1 end
  end
end

local missing, clashes, some = 0, 0, false
local score, journal, origin = {}, {}, {}
for i = 1, count do
  local old, new, both = triple(i)
  score[i] = T and redis.call('zscore', T, old)
  local here = listed and index[i] or not listed and score[i]
  local taken = T and redis.call('zscore', T, new)
  if not here or redis.call('hget', J, prefix .. old) == codec then
    index[i], missing = nil, missing + 1
  elseif score[i] and (taken or origin[new] and origin[new] ~= old) then
    index[i], clashes = nil, clashes + 1
  else
    index[i], origin[new], some = index[i] or true, old, true
    if both then
      table.insert(journal, prefix .. new)
      table.insert(journal, codec)
    end
  end
end
if not some then return { 0, 0, missing, clashes } end

-- The journal is the first that is written: what it has of something that is not there does no harm. LSET
-- is the next: should either be refused, nothing else is done.
for i = 1, #journal, 2 do
  wrong = wrong or error_of('hset', J, journal[i], journal[i + 1])
end
if #journal > 0 then wrong = wrong or error_of('expire', J, seconds) end
wrong = wrong or error_of('hdel', J, nobody)
if T then wrong = wrong or refused(T) or error_of('del', P) end
if U1 then wrong = wrong or error_of('srem', U1, nobody) end
if wrong then return wrong end

local replaced, moved = 0, 0
for i = 1, count do
  local old, new = triple(i)
  if index[i] then
    if listed then redis.call('lset', L, index[i], new) end
    if score[i] then
      redis.call('zadd', T, score[i], new)
      moved = moved + redis.call('zrem', T, old) -- 0 for the second entry of a member
      for _, unlisted in ipairs({ U1, U2 }) do
        if redis.call('srem', unlisted, old) == 1 then redis.call('sadd', unlisted, new) end
      end
    end
    redis.call('hdel', J, prefix .. old)
    replaced = replaced + 1
  end
end
return { replaced, moved, missing, clashes }
