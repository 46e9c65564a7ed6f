local D, M = KEYS[1], KEYS[2]

local wrong = redis.pcall('llen', M)
if type(wrong) == 'table' then return wrong end

local value = redis.call('lpop', D)
if value then redis.call('rpush', M, value) end
return value
