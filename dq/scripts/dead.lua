local X, V, N, D = unpack(KEYS)
local replay = ARGV[1] == 'replay'

local wrong = error_of('zcard', X) or error_of('hlen', V) or error_of('hlen', N) or error_of('llen', D)
  or lacks('zrem', X, '') or lacks('hdel', V, '') or lacks('hdel', N, '') or replay and lacks('rpush', D, '')
  or denied('zrem', X, nobody) or denied('hdel', V, '') or denied('hdel', N, '')
if wrong then return wrong end
local done = 0
for i = 2, #ARGV do
  local id = ARGV[i]
  if redis.call('zscore', X, id) then
    local value = replay and redis.call('hget', V, id)
    redis.call('hdel', V, '') -- frees something in name: a server that is out of memory lets the others follow
    if value then redis.call('rpush', D, value) end -- before all that may be refused: it is not lost
    redis.call('zrem', X, id)
    redis.call('hdel', V, id, 'r' .. id)
    redis.call('hdel', N, id, 'f' .. id)
    done = done + 1
  end
end
return done
