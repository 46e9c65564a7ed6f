local X, D = KEYS[1], KEYS[2]
local how = ARGV[1]

for key, length in pairs({[X] = 'zcard', [D] = 'llen'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end
local done = 0
for i = 2, #ARGV do
  local member = ARGV[i]
  if redis.call('zrem', X, member) == 1 then
    done = done + 1
    if how == 'replay' then
      redis.call('rpush', D, string.sub(member, 23 + struct.unpack('<I2', member, 21)))
    end
  end
end
return done
