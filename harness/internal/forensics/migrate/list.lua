local T, Q, X, G, P = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local first, last, repair = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == 'repair'
local most = tonumber(ARGV[5])
local wrong = wrong_type('zcard', T) or wrong_type('llen', Q)
  or repair and (wrong_type('zcard', X) or wrong_type('llen', G))
if wrong then return wrong end

-- The entries from the last one towards the head, read a few at a time: how large they are
-- is not known before.
local entries, bytes, page, reached = {}, 0, 1, last + 1
while reached > first and bytes < most do
  local from = math.max(first, reached - page)
  local read = redis.call('lrange', Q, from, reached - 1)
  reached = from
  for i = #read, 1, -1 do
    bytes = bytes + #read[i]
    if bytes > most and #entries > 0 then
      reached = from + i
      break
    end
    table.insert(entries, read[i])
  end
  page = math.min(2 * page, 8)
end

local clashes = 0
local rewrite, ghosts, aside, writes = {}, {}, {}, false
local score, origin = {}, {}
for i, entry in ipairs(entries) do
  local fresh = repacked(entry)
  if fresh ~= entry or repair then
    score[i] = redis.call('zscore', T, entry)
    local there = fresh and fresh ~= entry and redis.call('zscore', T, fresh)
    if not fresh then
      -- The second entry of one that is in X already is no ghost.
      if repair then ((score[i] or redis.call('zscore', X, entry)) and aside or ghosts)[i] = entry end
    elseif repair and not score[i] and not there then
      ghosts[i] = entry
    elseif fresh ~= entry then
      if score[i] and (there or origin[fresh] and origin[fresh] ~= entry) then
        clashes = clashes + 1
      else
        rewrite[i], origin[fresh] = fresh, entry
      end
    end
  end
  writes = writes or rewrite[i] or ghosts[i] or aside[i]
end
if not writes then return { reached, 0, 0, 0, 0, clashes } end
-- LSET is the first write that changes anything: should it be refused, nothing is done.
wrong = refused(T, repair and Q, X, 'lpush', G)
-- A pass of a dq client that copies the list would put back what is rewritten here: it is ended.
wrong = wrong or error_of('del', P)
if wrong then return wrong end

local function move(from, entry, fresh)
  redis.call('zadd', T, from, fresh)
  return redis.call('zrem', T, entry) -- 0 for the second entry of a member
end

local rewritten, moved, removed, dropped, quarantined = 0, 0, 0, 0, 0
for i, entry in ipairs(entries) do
  local index = reached + #entries - i
  if rewrite[i] then
    redis.call('lset', Q, index, rewrite[i])
    if score[i] then moved = moved + move(score[i], entry, rewrite[i]) end
    rewritten = rewritten + 1
  elseif ghosts[i] then
    redis.call('lset', Q, index, nobody)
    redis.call('lpush', G, entry)
    removed = removed + 1
  elseif aside[i] then
    redis.call('lset', Q, index, nobody)
    dropped = dropped + 1
    if score[i] then
      redis.call('zadd', X, score[i], entry)
      quarantined = quarantined + redis.call('zrem', T, entry)
    end
  end
end
local marked = removed + dropped
if marked > 0 then
  -- From the nearer end.
  if reached * 2 > redis.call('llen', Q) then marked = -marked end
  redis.call('lrem', Q, marked, nobody)
end
return { reached, rewritten, moved, removed, quarantined, clashes }
