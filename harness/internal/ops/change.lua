local T, Q, D, X, G, U1, U2, P, H, J, Back = unpack(KEYS)
local action, first, last, channel, number = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local members, values, layout_then = ARGV[6], ARGV[7], ARGV[8]
local count = (#ARGV - 8) / 4

-- The layout of a member, unless both fit.
local function layout_of(member)
  local _, layout = unpack_any(member, 'Bc0Lc0')
  local _, other = unpack_any(member, 'dLc0')
  return layout == other and layout or nil
end
-- A member as a migration to a layout writes it, and as the journal of a migration of values has it: in no layout.
local function parts_of(member)
  local value, layout = unpack_any(member, 'Bc0Lc0')
  local id = layout == 'Bc0Lc0' and 2 or 1
  return string.sub(member, id, id + 7), value
end
local function packed(member, layout)
  local id, value = parts_of(member)
  return (layout == 'Bc0Lc0' and '\8' or '') .. id .. struct.pack('<I4I4', #value, 0) .. value
end
local function noted(member)
  local id, value = parts_of(member)
  return #value .. ' ' .. value .. 'm' .. id
end

-- Before the first write: keys of a wrong type, a server that takes no writes, a user who may not.
for command, keys in pairs({ zcard = { T, X, H }, llen = { Q, D, G }, scard = { U1, U2 } }) do
  for _, key in ipairs(keys) do
    local wrong = error_of(command, key)
    if wrong then return wrong end
  end
end
local wrong = error_of('getrange', R, 0, 0) or error_of('getrange', C, 0, 0) or error_of('hget', F, 'layout') or error_of('zadd', T, 'xx', 0, nobody) or error_of('zrem', T, nobody) or error_of('srem', U1, nobody) or error_of('del', P)
  or error_of('lrange', Q, 0, 0) or lacks('lset', Q, 0, '') or lacks('lrem', Q, 1, '') or lacks('rpush', Q, '') or lacks('rpush', D, '')
  or lacks('lpush', G, '') or lacks('zadd', X, 0, '') or lacks('zadd', H, 0, '') or lacks('sadd', U1, '') or lacks('publish', channel, '') or lacks('setrange', R, 0, '') or lacks('setrange', C, 0, '')
  or action == 'replace' and (lacks('sadd', J, '') or lacks('expire', J, 0) or error_of('srem', Back, nobody) or lacks('hset', F, '', '') or error_of('expire', F, 2592000)) or nil
if wrong then return wrong end

-- Where the entries are: the caller saw them from `first` to `last`; removals since have moved them towards the head.
local index, reach = {}, 64
if last >= 0 then
  local from = math.max(0, first - reach)
  for i, entry in ipairs(redis.call('lrange', Q, from, last)) do index[entry] = from + i - 1 end
end
local function place(member)
  if index[member] then return index[member] end
  local at = redis.pcall('lpos', Q, member, 'rank', action == 'replace' and -1 or 1) -- a migration meets new ones, at the tail
  if type(at) ~= 'table' then return at or nil end
  for i, entry in ipairs(redis.call('lrange', Q, 0, -1)) do -- LPOS is refused, or unknown before 6.0.6
    if entry == member then return i - 1 end
  end
end

local function relist(old, new)
  local at = place(old)
  if at then redis.call('lset', Q, at, new) end
  index[old] = nil -- it may be listed twice
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
  if redis.call('zrem', H, member) == 0 then
    unlist(member)
    redis.call('zrem', T, member)
  end
end

local change = {
  cancel = function(old) leave(old) end,
  deliver = function(old, value) leave(old); redis.call('rpush', D, value) end,
  reschedule = function(old, _, due)
    if redis.call('zrem', H, old) == 1 then redis.call('rpush', Q, old) end
    redis.call('zadd', T, due, old)
  end,
  replace = function(old, new, due, score, number)
    local was, is = unpack_any(old, 'Bc0Lc0'), unpack_any(new, 'Bc0Lc0')
    if was ~= is then
      stamp('values', number)
      redis.call('srem', Back, noted(old))
    end
    if #old - #was ~= #new - #is then stamp('members', number) end
    if due == 'journal' then
      redis.call('sadd', J, noted(new))
      redis.call('expire', J, 2592000)
    end
    relist(old, new)
    for _, key in ipairs({ U1, U2 }) do
      if redis.call('srem', key, old) == 1 then redis.call('sadd', key, new) end
    end
    local key = redis.call('zscore', T, old) and T or H
    redis.call('zadd', key, score, new)
    redis.call('zrem', key, old)
  end,
  aside = function(old, _, _, score) redis.call('zadd', X, score, old); leave(old) end,
  unaside = function(old, _, due) redis.call('zrem', X, old); redis.call('rpush', Q, old); redis.call('zadd', T, due, old) end,
  list = function(old) redis.call('rpush', Q, old) end,
  unlist = function(old) redis.call('lrem', Q, -1, old) end,
  again = function(old) redis.call('rpush', Q, old) end,
  once = function() end, -- by the attempt
  ghost = function(old) redis.call('lpush', G, old) end,
  unghost = function(old) redis.call('lrem', G, 1, old); redis.call('rpush', Q, old) end,
  hold = function(old, _, due) redis.call('zadd', X, due, old) end,
  drop = function(old) redis.call('zrem', X, old) end,
  restore = function(old, _, due) redis.call('rpush', Q, old); redis.call('zadd', T, due, old) end,
  takeback = function(old, _, due) redis.call('rpush', Q, old); redis.call('zadd', T, due, old) end,
}
if not change[action] then return redis.error_reply('ERR no such change: ' .. action) end

-- Before the first write, too: what is no score.
local dated = { reschedule = true, restore = true, takeback = true, unaside = true, hold = true }
for i = 1, dated[action] and count or 0 do
  local wrong = error_of('zadd', T, 'xx', ARGV[4 * i + 7], nobody)
  if wrong then return wrong end
end

wrong = begin(number, count, values)
if wrong then return wrong end

-- Before Redis 7 a call shows if there is a right to it: R is of another type, and of no such change.
if not may then
  wrong = action == 'replace' and denied('hset', R, '', '') or denied('lset', R, 0, '') or denied('lrem', R, 1, '') or denied('rpush', R, '') or denied('lpush', R, '')
    or denied('zadd', R, 0, '') or denied('zrem', R, '') or denied('srem', R, '') or denied('sadd', R, '')
    or denied('publish', channel, redis.call('zrange', T, 0, 0, 'withscores')[2] or '0') or nil
  if wrong then return wrong end
end

-- Whether a change can be made: a member that others have moved meanwhile is left as it is. A ghost and a value leave their list by
-- the attempt.
local absent = { ghost = true, unghost = true, restore = true, takeback = true, unaside = true, hold = true }
local function attempt(old, value, score, due)
  if action == 'drop' then return redis.call('zscore', X, old) and '1' or '0' end
  if absent[action] then
    if score then return '2' end
    if action == 'unaside' then return redis.call('zscore', X, old) and '1' or '0' end
    if action == 'hold' and redis.call('zscore', X, old) then return '2' end
    if action == 'ghost' then return redis.call('lrem', Q, 1, old) == 1 and '1' or '0' end
    if action == 'takeback' then return redis.call('lrem', D, -1, value) == 1 and '1' or '2' end
    return '1'
  end
  if not score or action == 'reschedule' and C ~= R and tonumber(score) ~= tonumber(value) then return '0' end -- others did
  if (action == 'cancel' or action == 'deliver' and C ~= R) and tonumber(score) ~= tonumber(due) and tonumber(score) < 1e300 then return '0' end -- rescheduled meanwhile
  if action == 'list' and place(old) then return '2' end
  if action == 'once' then
    redis.call('lrem', Q, -1, old)
    if place(old) then return '1' end
    redis.call('rpush', Q, old)
    return '0'
  end
  if due == 'journal' and redis.call('sismember', J, noted(old)) == 1 then return '2' end
  if action == 'replace' and (value == old or redis.call('zscore', T, value)) then return '2' end
  return '1'
end

-- A guard may have taken the member out meanwhile.
local either = { cancel = true, deliver = true, replace = true, reschedule = true, restore = true, takeback = true, unaside = true, hold = true }
local head, results = redis.call('zrange', T, 0, 0, 'withscores'), {}

-- Members were read when layout_then was that of the queue, * is for any. One of it that is not there is looked for in the layout of the queue
-- now, and comes back in it. After a migration it may be in either layout, and an empty queue has that of the migration.
local migrated = members == '*' or stamped('members', members)
local exact = { ghost = true, unghost = true, replace = true } -- for the very bytes
local form = migrated and redis.call('hget', F, 'layout') or nil
if head[1] then
  local one, last = layout_of(head[1]), layout_of(redis.call('zrange', T, -1, -1)[1])
  if one and last and one ~= last then form = nil else form = one or last or form end
end
local function score_of(member) return redis.call('zscore', T, member) or either[action] and redis.call('zscore', H, member) end
local function as_now(member)
  local layout = layout_of(member)
  if not layout or not migrated and layout ~= layout_then and layout_then ~= '*' then return member end
  for _, other in ipairs(migrated and { 'dLc0', 'Bc0Lc0' } or {}) do
    local score = score_of(packed(member, other))
    if score then return packed(member, other), score end
  end
  if form then member = packed(member, form) end
  return member, score_of(member)
end
for i = 1, count do
  local old, new, due, undone = unpack(ARGV, 4 * i + 5, 4 * i + 8)
  results[i] = once(number + i - 1, undone, function()
    local score = score_of(old)
    if not score and not exact[action] then old, score = as_now(old) end
    local result = attempt(old, new, score, due)
    if result == '1' then change[action](old, new, due, score, number + i - 1) end
    if action == 'replace' and not score and redis.call('zscore', T, new) then -- it was listed twice
      relist(old, new)
    end
    return result
  end)
end
if marked > 0 then
  local behind = redis.call('llen', Q) - low
  redis.call('lrem', Q, behind < low and -marked or marked, nobody)
end
-- Clients set their timers by the published due time. Before Redis 7 a refusal is met here: the changes stand, and are told.
local now = redis.call('zrange', T, 0, 0, 'withscores')
if now[1] and now[2] ~= head[2] then redis.pcall('publish', channel, now[2]) end
return table.concat(results)
