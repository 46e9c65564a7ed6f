local T, Q, X, P, U1, U2 = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local repair = ARGV[2] == 'repair'
local wrong = wrong_type('zcard', T) or wrong_type('llen', Q) or repair and wrong_type('zcard', X)
  or wrong_type('scard', U1) or wrong_type('scard', U2) or refused(T, repair and Q, X, 'rpush', Q) or error_of('del', P)
if wrong then return wrong end

local rewritten, relisted, quarantined, clashes = 0, 0, 0, 0
for i = 3, #ARGV do
  local member = ARGV[i]
  local score, fresh = redis.call('zscore', T, member), repacked(member)
  -- The key of those that a dq client has taken out of the list, if it is one of them.
  local unlisted = redis.call('sismember', U1, member) == 1 and U1 or redis.call('sismember', U2, member) == 1 and U2
  if score and not fresh then
    if repair then
      redis.call('zadd', X, score, member)
      redis.call('zrem', T, member)
      quarantined = quarantined + 1
    end
  elseif score and fresh ~= member and redis.call('zscore', T, fresh) then
    clashes = clashes + 1
  elseif score then
    if repair and not unlisted then
      -- Once, also if this is sent twice.
      redis.call('lrem', Q, -1, fresh)
      redis.call('rpush', Q, fresh)
      relisted = relisted + 1
    end
    if fresh ~= member then
      redis.call('zadd', T, score, fresh)
      redis.call('zrem', T, member)
      if unlisted then
        redis.call('sadd', unlisted, fresh)
        redis.call('srem', unlisted, member)
      end
      rewritten = rewritten + 1
    end
  end
end
return { rewritten, relisted, quarantined, clashes }
