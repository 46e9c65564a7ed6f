local X, V, N, D = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

for key, length in pairs({[X] = 'zcard', [V] = 'hlen', [N] = 'hlen', [D] = 'llen'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end
local done = 0
for i = 2, #ARGV do
  local id = ARGV[i]
  if redis.call('zscore', X, id) then
    local value = ARGV[1] == 'replay' and redis.call('hget', V, id)
    if value then redis.call('rpush', D, value) end
    redis.call('zrem', X, id)
    redis.call('hdel', V, id, 'r' .. id)
    redis.call('hdel', N, id, 'f' .. id)
    done = done + 1
  end
end
return done
