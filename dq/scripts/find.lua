local T, own = KEYS[1], ARGV[1]
local score, seen, value = ARGV[2], tonumber(ARGV[3]), ARGV[4]
if own ~= 'dLc0' and own ~= 'Bc0Lc0' or not value then
  return redis.error_reply('ERR expected dLc0 or Bc0Lc0 as the own layout, a place and a value')
end
local wrong = error_of('zcard', T)
if wrong then return wrong end

-- The place is behind so many members of a score: ranks change with each transfer.
local first = score == '' and 0 or redis.call('zcount', T, '-inf', '(' .. score) + seen
local passed, bytes, step, last, all = 0, 0, 1, nil, { score, seen }
repeat
  local page = redis.call('zrange', T, first + passed, first + passed + step - 1)
  for _, member in ipairs(page) do
    passed, bytes, last = passed + 1, bytes + #member, member
    local more = #member - #value
    if more >= 12 and more <= 17 and string.sub(member, more + 1) == value and unpack_any(member, own) == value then
      all[#all + 1] = member
      all[#all + 1] = redis.call('zscore', T, member)
    end
  end
  local full = #page == step
  step = math.max(1, math.min(500, math.floor(100000 * passed / math.max(bytes, 1))))
until not full or passed >= 2000 or bytes >= 500000
if not last then return {} end
all[1] = redis.call('zscore', T, last)
all[2] = first + passed - redis.call('zcount', T, '-inf', '(' .. all[1])
return all
