-- Put before every script, joined to one line so that the script's own line numbers stay. Inside, DQ.CALL, DQ.PACK,
-- DQ.UNPACK and DQ.SIZE are not commands but the way from Lua to the Go code of script.go. Level 4 of error is, for this Lua
-- machine, the line of the script itself.
local struct
do
  local pcall, error, type, select, sub, tonumber, unpack = redis.pcall, error, type, select, string.sub, tonumber, unpack
  local special = { ['+Inf'] = 1 / 0, ['-Inf'] = -1 / 0 }
  local function checked(reply) if type(reply) == 'table' and reply.err then error(reply.err, 4) end return reply end
  local function typed(...)
    local t = {}
    for i = 1, select('#', ...) do
      local v = select(i, ...)
      local kind = type(v)
      if kind == 'number' then t[i] = 'n' .. v elseif kind == 'string' then t[i] = 's' .. v else t[i] = '-' .. kind end
    end
    return unpack(t)
  end
  redis.call = function(...) local reply = checked(pcall('DQ.CALL', ...)) return reply end
  redis.pcall = function(...) local reply = pcall('DQ.CALL', ...) return reply end
  server = redis
  struct = {
    pack = function(...) local reply = checked(pcall('DQ.PACK', typed(...))) return reply end,
    size = function(...) local reply = checked(pcall('DQ.SIZE', typed(...))) return reply end,
    unpack = function(...)
      local reply = checked(pcall('DQ.UNPACK', typed(...)))
      for i = 1, #reply do
        local v = sub(reply[i], 2)
        if sub(reply[i], 1, 1) == 'n' then v = tonumber(v) or special[v] or 0 / 0 end
        reply[i] = v
      end
      return unpack(reply)
    end,
  }
end
