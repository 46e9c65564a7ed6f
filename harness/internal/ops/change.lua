local T, Q, D, X, G, U1, U2, P, H = unpack(KEYS)
local action, first, channel = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local count, nobody = (#ARGV - 3) / 3, 'dq-bench: no such member'

-- Before the first write: keys of a wrong type, a server that takes no writes, a user who may not.
for command, keys in pairs({ zcard = { T, X }, llen = { Q, D, G }, scard = { U1, U2 } }) do
  for _, key in ipairs(keys) do
    local wrong = error_of(command, key)
    if wrong then return wrong end
  end
end
local wrong = error_of('zadd', T, 'xx', 0, nobody) or error_of('zrem', T, nobody) or error_of('del', P)
if wrong then return wrong end
if redis.acl_check_cmd then
  for _, call in ipairs({ { 'lset', Q, 0, '' }, { 'lrem', Q, 1, '' }, { 'rpush', Q, '' }, { 'rpush', D, '' }, { 'lpush', G, '' }, { 'zadd', X, 0, '' }, { 'sadd', U1, '' } }) do
    if not redis.acl_check_cmd(unpack(call)) then return redis.error_reply('NOPERM this user may not ' .. call[1] .. ' ' .. call[2]) end
  end
end

-- Where the entries are: the caller saw them from `first` on; removals since have moved them towards the head.
local index, reach = {}, 64
if first >= 0 then
  local from = math.max(0, first - reach)
  for i, entry in ipairs(redis.call('lrange', Q, from, first + count - 1)) do index[entry] = from + i - 1 end
end
local function place(member)
  if index[member] then return index[member] end
  local at = redis.pcall('lpos', Q, member)
  return type(at) == 'number' and at or nil
end

local marked, low = 0, nil
local function unlist(member)
  local at = place(member)
  if at then
    redis.call('lset', Q, at, nobody)
    marked, low = marked + 1, math.min(low or at, at)
  end
  return redis.call('srem', U1, member) + redis.call('srem', U2, member) > 0 or at ~= nil
end
local function leave(member)
  unlist(member)
  redis.call('zrem', T, member)
end

local change = {
  cancel = function(old) leave(old) end,
  deliver = function(old, value) leave(old); redis.call('rpush', D, value) end,
  reschedule = function(old, _, due) redis.call('zadd', T, due, old) end,
  replace = function(old, new, _, score)
    local at = place(old)
    if at then redis.call('lset', Q, at, new) end
    for _, key in ipairs({ U1, U2 }) do
      if redis.call('srem', key, old) == 1 then redis.call('sadd', key, new) end
    end
    redis.call('zadd', T, score, new)
    redis.call('zrem', T, old)
  end,
  aside = function(old, _, _, score) redis.call('zadd', X, score, old); leave(old) end,
  list = function(old) if not place(old) then redis.call('rpush', Q, old) end end,
  ghost = function(old) if unlist(old) then redis.call('lpush', G, old) end end,
  restore = function(_, new, due) redis.call('rpush', Q, new); redis.call('zadd', T, due, new) end,
}
if not change[action] then return redis.error_reply('ERR no such change: ' .. action) end

local head = redis.call('zrange', T, 0, 0, 'withscores')
local done, missing, clashes = 0, 0, 0
for i = 1, count do
  local old, new, due = ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3]
  local score = redis.call('zscore', T, old)
  local expected = action ~= 'ghost' and action ~= 'restore'
  if (score and true or false) ~= expected then
    missing = missing + 1
  elseif (action == 'replace' and new ~= old or action == 'restore') and redis.call('zscore', T, new) then
    clashes = clashes + 1
  else
    change[action](old, new, due, score)
    done = done + 1
  end
end
if marked > 0 then
  local behind = redis.call('llen', Q) - low
  redis.call('lrem', Q, behind < low and -marked or marked, nobody)
end
-- Clients set their timers by what is published.
local now = redis.call('zrange', T, 0, 0, 'withscores')
if now[1] and now[2] ~= head[2] then redis.call('publish', channel, now[2]) end
return { done, missing, clashes }
