local T, Q = KEYS[1], KEYS[2]
local U1, U2, V, N = KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local due, id, now = ARGV[1], ARGV[2], tonumber(ARGV[3])
local later, own, channel, new_id = ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local wrong = error_of('zcard', T) or error_of('llen', Q)
if not wrong and U1 then wrong = error_of('scard', U1) or error_of('scard', U2) or error_of('scard', V) or error_of('llen', N) end
wrong = wrong or lacks('zrem', T, '') or lacks('lrem', Q, '1', '') or U1 and lacks('srem', U1, '')
  or later and (lacks('zadd', T, '0', '') or lacks('rpush', Q, '') or lacks('publish', channel, ''))
if wrong then return wrong end

-- Whether the bytes of a member come before those of a prefix. Lua's < goes by a locale.
local function before(member, prefix)
  for i = 1, #prefix do
    local a, b = string.byte(member, i) or -1, string.byte(prefix, i)
    if a ~= b then return a < b end
  end
  return false
end

-- T has the members of one score in the order of their bytes, which begin with the id.
local first = redis.call('zcount', T, '-inf', '(' .. due)
local behind = redis.call('zcount', T, '-inf', due)
local function find(layout, prefix)
  local low, high = first, behind
  while low < high do
    local middle = math.floor((low + high) / 2)
    if before(redis.call('zrange', T, middle, middle)[1], prefix) then low = middle + 1 else high = middle end
  end
  if low == behind then return nil end
  local member = redis.call('zrange', T, low, low)[1]
  if string.sub(member, 1, #prefix) == prefix and (id_in(member, layout, 8) or id_in(member, layout, 4)) then
    return member, low
  end
end
local member, rank = find('Bc0Lc0', '\8' .. id)
if not member then member, rank = find('dLc0', id) end
if not member then return 0 end
wrong = denied('zrem', T, nobody) or denied('lrem', T, '1', nobody) or U1 and denied('srem', T, nobody)
  or later and (denied('zadd', T, 'xx', '0', nobody) or denied('rpush', T, nobody))
if wrong then return wrong end

-- The list is walked from the end that is nearer: the tail for what was offered a moment ago, and
-- in a queue of equal delays, whose list is in the order of T, where the rank says. Redis before
-- 6.0.6 has no LPOS.
local recent = redis.pcall('lpos', Q, member, 'rank', '-1', 'maxlen', '1000')
local from = (type(recent) == 'number' or rank * 2 >= redis.call('zcard', T)) and -1 or 1
-- What is due and out of Q has come, or a transfer of Redisson's that failed later may have pushed it: the next transfer pushes it.
local came = tonumber(due) <= now
local staged = U1 and not came and redis.call('srem', U1, member) + redis.call('srem', U2, member) > 0
if not staged and redis.call('lrem', Q, from, member) == 0 and came then return 0 end
-- A pass has it in one of the two that it makes of Q.
if U1 and not staged and redis.call('srem', V, member) == 0 then redis.call('lrem', N, from, member) end
redis.call('zrem', T, member)
if later then
  local value = unpack_any(member, own)
  member = (own == 'Bc0Lc0' and '\8' or '') .. new_id .. struct.pack('<I4I4', #value, 0) .. value
  redis.call('zadd', T, later, member)
  redis.call('rpush', Q, member)
  if redis.call('zrange', T, '0', '0')[1] == member then redis.pcall('publish', channel, later) end
end
return 1
