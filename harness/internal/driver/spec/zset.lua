local elements = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1])
if #elements > 0 then
for i, element in ipairs(elements) do
redis.call('LPUSH', KEYS[2], element)
redis.call('ZREM', KEYS[1], element)
end
end
return elements
