local X, D = KEYS[1], KEYS[2]
local how = ARGV[1]

for key, length in pairs({[X] = 'zcard', [D] = 'llen'}) do
  local wrong = redis.pcall(length, key)
  if type(wrong) == 'table' then return wrong end
end
-- What is dead goes last: where that fails the message comes twice, and is not lost. What no dq has written can be
-- dropped, but not replayed.
local done = 0
for i = 2, #ARGV do
  local member = ARGV[i]
  local reason = #member >= 22 and struct.unpack('<I2', member, 21)
  if redis.call('zscore', X, member) and (how ~= 'replay' or reason and #member >= 22 + reason) then
    done = done + 1
    if how == 'replay' then
      redis.call('rpush', D, string.sub(member, 23 + reason))
    end
    redis.call('zrem', X, member)
  end
end
return done
