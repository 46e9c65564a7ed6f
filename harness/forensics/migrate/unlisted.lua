local T, Q, X = KEYS[1], KEYS[2], KEYS[3]
local repair = ARGV[2] == 'repair'
local wrong = error_of('zcard', T) or error_of('llen', Q) or repair and error_of('zcard', X)
  or refused(T, repair and Q, X, 'rpush', Q)
if wrong then return wrong end

local rewritten, relisted, quarantined, clashes = 0, 0, 0, 0
for i = 3, #ARGV do
  local member = ARGV[i]
  local score, fresh = redis.call('zscore', T, member), repacked(member)
  if score and not fresh then
    if repair then
      redis.call('zadd', X, score, member)
      redis.call('zrem', T, member)
      quarantined = quarantined + 1
    end
  elseif score and fresh ~= member and redis.call('zscore', T, fresh) then
    clashes = clashes + 1
  elseif score then
    if repair then
      -- Once, also if this is sent twice.
      redis.call('lrem', Q, -1, fresh)
      redis.call('rpush', Q, fresh)
      relisted = relisted + 1
    end
    if fresh ~= member then
      redis.call('zadd', T, score, fresh)
      redis.call('zrem', T, member)
      rewritten = rewritten + 1
    end
  end
end
return { rewritten, relisted, quarantined, clashes }
