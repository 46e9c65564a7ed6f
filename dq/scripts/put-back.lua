local D, M, B = KEYS[1], KEYS[2], KEYS[3]
local value = ARGV[1]

for _, key in ipairs({D, M, B}) do
  local wrong = redis.pcall('llen', key)
  if type(wrong) == 'table' then return wrong end
end

for _, list in ipairs({M, B}) do
  if redis.call('lrem', list, 1, value) == 1 then
    redis.call('lpush', D, value)
    return 1
  end
end
return 0
