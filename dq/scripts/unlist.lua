local T, Q, S, P, N, V = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local U = { KEYS[7], KEYS[8] }
local token, horizon, count, lease, keep = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
-- How many entries before the last that was passed are known by heart, and how far towards
-- the head they are looked for.
local trail, reach = 16, 1000
if not count or count < 1 or count > 10000 then
  return redis.error_reply('ERR expected a count from 1 to 10000')
end
for command, keys in pairs({ zcard = { T }, llen = { Q, N }, hlen = { S, P }, scard = { V, U[1], U[2] } }) do
  for _, key in ipairs(keys) do
    local wrong = error_of(command, key)
    if wrong then return wrong end
  end
end

local function ended(how)
  redis.call('unlink', P, N, V)
  return { how, 0 }
end

-- The first of the two sets that is empty. What it holds though nothing of it is due any
-- more was delivered by somebody else.
local function free()
  for i = 1, 2 do
    if redis.call('exists', U[i]) == 0 then return i end
    local till = redis.call('hget', S, 'till' .. i)
    if till and redis.call('zcount', T, '0', till) == 0 then
      redis.call('unlink', U[i])
      return i
    end
  end
end

local function begin()
  local into = free()
  if not into then return { 'full', 0 } end
  -- Everything that the last step does is tried with nothing in the keys, so that a user
  -- who may not is told before anything has happened.
  local tried
  for _, call in ipairs({
    { 'unlink', P, N, V }, { 'rpush', N, '' }, { 'rename', N, V }, { 'pexpire', V, lease }, { 'persist', V },
    { 'unlink', V }, { 'sadd', V, '' }, { 'scard', V }, { 'srem', V, '' }, { 'pttl', Q }, { 'hset', P, 'token', token },
  }) do
    tried = tried or error_of(unpack(call))
  end
  tried = tried or lacks('rename', N, Q) or lacks('rename', Q, V) or lacks('rename', V, U[into]) or lacks('hset', S, '', '')
  if tried then
    redis.pcall('unlink', P, N, V)
    return tried
  end
  redis.call('pexpire', P, lease) -- transfers wait while it is there, also if what follows fails
  redis.call('hset', P, 'horizon', horizon, 'passed', '0', 'surplus', '0', 'into', into)
end

local owner = redis.call('hget', P, 'token')
if owner and owner ~= token then return { 'busy', 0 } end
if not owner then
  if horizon == '' then return { 'gone', 0 } end
  local refused = begin()
  if refused then return refused end
end
local pass = redis.call('hmget', P, 'horizon', 'passed', 'surplus', 'into', 'checked', 'cursor')
local till, passed, surplus = tonumber(pass[1]), tonumber(pass[2]), tonumber(pass[3])
local into, checked, cursor = tonumber(pass[4]), pass[5], pass[6]
local length = redis.call('llen', Q)

-- Another step is needed: what it has to know is kept, and all that is ours lives on.
local names, known = {}, {}
for i = 1, trail do names[i] = 'trail' .. i end
local function again(...)
  redis.call('hset', P, 'passed', passed, 'surplus', surplus, ...)
  local last = math.min(trail, #known)
  for i = 1, last do redis.call('hset', P, names[i], known[#known - last + i]) end
  for _, key in ipairs({ P, N, V }) do redis.call('pexpire', key, lease) end
  return { 'more', passed }
end

-- Others have transferred members of V meanwhile: these are forgotten.
if cursor then
  local page = redis.call('sscan', V, cursor, 'count', count)
  local gone = {}
  for _, member in ipairs(page[2]) do
    if not redis.call('zscore', T, member) then gone[#gone + 1] = member end
  end
  call_with_all('srem', V, gone)
  if page[1] ~= '0' then return again('cursor', page[1]) end
  redis.call('hdel', P, 'cursor')
  return again('checked', 'yes')
end

-- The entry that was passed last, or the last of those before it that is still there. What
-- is behind it has not been passed, for nobody adds anything but at the tail.
for _, entry in ipairs(redis.call('hmget', P, unpack(names))) do
  if entry then known[#known + 1] = entry end
end
if passed > 0 and redis.call('lindex', Q, passed - 1) ~= known[#known] then
  local base = math.max(0, passed - reach)
  local place = {}
  for i, entry in ipairs(redis.call('lrange', Q, base, passed - 1)) do place[entry] = base + i end
  passed = nil
  for i = #known, 1, -1 do
    passed = passed or place[known[i]]
  end
  if not passed then return ended('lost') end
end

local entries = redis.call('lrange', Q, passed, passed + count - 1)
local stay, leave = {}, {}
for _, entry in ipairs(entries) do
  local score = tonumber(redis.call('zscore', T, entry) or nil)
  if score and score >= 0 and score <= till then
    leave[#leave + 1] = entry
  else
    stay[#stay + 1] = entry
  end
  known[#known + 1] = entry
end
call_with_all('rpush', N, stay)
-- An entry may be there twice, of which a set has one.
surplus = surplus + #leave - call_with_all('sadd', V, leave)
passed = passed + #entries
if #entries == count then return again() end

-- The end of Q. If somebody took an entry away that was passed, it is shorter than what it
-- was passed to. Those of V that others have transferred do no harm: where none had left
-- before, T tells how many are left.
local leaving, left = redis.call('scard', V), length - redis.call('llen', N) - surplus
local known_to_t = left < leaving and redis.call('exists', U[1], U[2]) == 0 and left == redis.call('zcount', T, '0', pass[1])
if left ~= leaving and not known_to_t then
  if checked then return ended('raced') end
  return again('cursor', '0')
end
-- A right may be gone since the first step.
local wrong = error_of('unlink', U[into]) or error_of('pttl', Q) or error_of('exists', N) or error_of('persist', V) or error_of('pexpire', V, lease)
  or leaving > 0 and error_of('rename', V, V) or error_of('hset', P, 'passed', passed)
if wrong then return wrong end
redis.call('hset', S, 'covered', pass[1], 'till' .. into, pass[1])
redis.call('pexpire', S, keep)
if leaving > 0 then
  local lives = redis.call('pttl', Q)
  redis.call('rename', V, U[into])
  redis.call('pexpire', U[into], keep)
  redis.call('rename', Q, V)
  if redis.call('exists', N) == 1 then
    redis.call('rename', N, Q)
    if lives > 0 then redis.call('pexpire', Q, lives) else redis.call('persist', Q) end
  end
end
ended('done')
return { 'done', leaving }
