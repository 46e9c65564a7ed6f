local D, M, B = KEYS[1], KEYS[2], KEYS[3]
local value = ARGV[1]

for _, key in ipairs({D, M, B}) do
  local wrong = redis.pcall('llen', key)
  if type(wrong) == 'table' then return wrong end
end

-- It leaves its list last: where that fails it comes twice, and is not lost.
for _, list in ipairs({M, B}) do
  for _, moved in ipairs(redis.call('lrange', list, 0, -1)) do
    if moved == value then
      redis.call('lpush', D, value)
      redis.call('lrem', list, 1, value)
      return 1
    end
  end
end
return 0
