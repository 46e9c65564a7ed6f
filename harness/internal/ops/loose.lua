local D, X, L, V, N, Dead, J, Back = unpack(KEYS)
local action, of, number, values = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local set = ({ aside = X, held = L, retry = L, dead = Dead })[of]

local function drop(id)
  redis.call('zrem', set, id)
  if set ~= X then
    redis.call('hdel', V, id, 'r' .. id)
    redis.call('hdel', N, id, 'f' .. id)
  end
end
local function put(id, value, score, count, failed, reason)
  redis.call('zadd', set, score, id)
  if set ~= X then
    redis.call('hset', V, id, value)
    redis.call('hset', N, id, count)
    if failed ~= '' then redis.call('hset', N, 'f' .. id, failed) end
    if of == 'dead' then redis.call('hset', V, 'r' .. id, reason) end
  end
end

-- Elements of a journal: see JournalKey.
local function of_lease(id, value) return #value .. ' ' .. value .. 'l' .. id end
local function note(element)
  redis.call('sadd', J, element)
  redis.call('expire', J, 2592000)
end

local function do_it(id, value, score, count, failed, reason, number)
  if of == 'ready' then
    if action == 'cancel' then return redis.call('lrem', D, 1, id) == 1 end
    if action == 'put' then return redis.call('lpush', D, id) > 0 end
    if redis.call('lindex', D, score) ~= id then return false end
    if count == 'journal' then note(#value .. ' ' .. value .. 'v' .. change_id(number)) end
    redis.call('lset', D, score, value)
    stamp('values', number)
    return true
  end
  local there = redis.call('zscore', set, id)
  if action == 'put' then
    if there then return false end
    put(id, value, score, count, failed, reason)
    return true
  end
  if action == 'takeback' then
    if there or redis.call('lrem', D, -1, value) == 0 then return false end
    put(id, value, score, count, failed, reason)
    return true
  end
  if not there then return false end
  if action == 'cancel' then
    drop(id)
  elseif action == 'deliver' then
    local body = redis.call('hget', V, id)
    if not body then return false end
    redis.call('rpush', D, body)
    drop(id)
  elseif redis.call('hexists', V, id) == 1 then
    local old = redis.call('hget', V, id)
    if count == 'journal' then
      if redis.call('sismember', J, of_lease(id, old)) == 1 then return false end
      note(of_lease(id, value))
    end
    redis.call('hset', V, id, value)
    redis.call('srem', Back, of_lease(id, old))
    stamp('values', number)
  else
    return false
  end
  return true
end

-- Before the first write: keys of a wrong type, a user who may not, what is no score.
local nobody = 'dq: no such member'
for _, call in ipairs({ { 'getrange', R, 0, 0 }, { 'getrange', C, 0, 0 }, { 'hget', F, 'values' }, { 'llen', D }, { 'srem', Back, nobody }, { 'zcard', X }, { 'zcard', L }, { 'hlen', V }, { 'hlen', N }, { 'zcard', Dead }, { 'zrem', set or X, nobody }, { 'hdel', V, nobody }, { 'hdel', N, nobody } }) do
  local reply = redis.pcall(unpack(call))
  if type(reply) == 'table' and reply.err then return reply end
end
if redis.acl_check_cmd then
  for _, call in ipairs({ { 'zadd', X, 0, '' }, { 'hset', V, '', '' }, { 'rpush', D, '' }, { 'lrem', D, 1, '' }, { 'lset', D, 0, '' }, { 'lpush', D, '' }, { 'setrange', R, 0, '' }, { 'setrange', C, 0, '' }, { 'hset', F, '', '' }, { 'hget', V, '' }, { 'zscore', L, '' }, { 'lindex', D, 0 } }) do
    if not redis.acl_check_cmd(unpack(call)) then return redis.error_reply('NOPERM this user may not ' .. call[1] .. ' ' .. call[2]) end
  end
end
for i = 7, (action == 'put' or action == 'takeback') and set and #ARGV or 0, 7 do
  local reply = redis.pcall('zadd', set, 'xx', ARGV[i], nobody)
  if type(reply) == 'table' and reply.err then return reply end
end
local ended = begin(number, (#ARGV - 4) / 7, values)
if ended then return ended end
if not redis.acl_check_cmd then -- before Redis 7 a call shows if there is a right to it: R is of another type
  for _, call in ipairs({ { 'rpush', R, '' }, { 'lpush', R, '' }, { 'lrem', R, 1, '' }, { 'lset', R, 0, '' }, { 'zadd', R, 0, '' }, { 'hset', R, '', '' } }) do
    local reply = redis.pcall(unpack(call))
    if not string.find(reply.err, 'WRONGTYPE', 1, true) then return redis.error_reply('NOPERM this user may not ' .. call[1]) end
  end
end
local results = {}
for i = 5, #ARGV, 7 do
  local id, value, score, count, failed, reason, undone = unpack(ARGV, i, i + 6)
  local made = number + #results
  results[#results + 1] = once(made, undone, function() return do_it(id, value, score, count, failed, reason, made) and '1' or C ~= R and '2' end)
end
return table.concat(results)
