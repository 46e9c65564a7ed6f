local T, Q, X, G = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local first, last, repair = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == 'repair'
local wrong = error_of('zcard', T) or error_of('llen', Q)
  or repair and (error_of('zcard', X) or error_of('llen', G))
if wrong then return wrong end

local entries = redis.call('lrange', Q, first, last)
local bytes, clashes = 0, 0
local rewrite, ghosts, aside, writes = {}, {}, {}, false
local score, origin = {}, {}
for i, entry in ipairs(entries) do
  bytes = bytes + #entry
  local fresh = repacked(entry)
  if fresh ~= entry or repair then
    score[i] = redis.call('zscore', T, entry)
    local there = fresh and fresh ~= entry and redis.call('zscore', T, fresh)
    if not fresh then
      if repair then (score[i] and aside or ghosts)[i] = entry end
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
if not writes then return { #entries, bytes, 0, 0, 0, clashes } end
-- LSET is the first write that changes anything: should it be refused, nothing is done.
wrong = refused(T, repair and Q, X, 'lpush', G)
if wrong then return wrong end

local function move(from, entry, fresh)
  redis.call('zadd', T, from, fresh)
  redis.call('zrem', T, entry)
end

local rewritten, removed, quarantined = 0, 0, 0
for i = #entries, 1, -1 do
  local entry, index = entries[i], first + i - 1
  if rewrite[i] then
    redis.call('lset', Q, index, rewrite[i])
    if score[i] then move(score[i], entry, rewrite[i]) end
    rewritten = rewritten + 1
  elseif ghosts[i] then
    redis.call('lset', Q, index, nobody)
    redis.call('lpush', G, entry)
    removed = removed + 1
  elseif aside[i] then
    redis.call('lset', Q, index, nobody)
    redis.call('zadd', X, score[i], entry)
    redis.call('zrem', T, entry)
    quarantined = quarantined + 1
  end
end
local marked = removed + quarantined
if marked > 0 then
  -- From the nearer end.
  if first * 2 > redis.call('llen', Q) then marked = -marked end
  redis.call('lrem', Q, marked, nobody)
end
return { #entries, bytes, rewritten, removed, quarantined, clashes }
