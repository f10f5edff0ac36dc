-- Takes the lock for an owner, or says for how long another has it.
--
-- KEYS[1] the lock: a hash, owner -> hold count (Redisson's RLock). This script always sets an expiry
-- KEYS[2] the number of the last grant; it expires a day after that
-- ARGV    [1] the lease in milliseconds; [2] the owner
-- Reply   {number, 0} granted: the same owner asking again is granted again, so a repeated request is harmless
--         {0, ms} refused: what is left of the other owner's lease; -1: its key has no expiry, so another program made it
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {0, redis.call('pttl', KEYS[1])}
end
-- The number is the server's time since 2000 in steps of 32 µs, or the last number plus one. So it grows even when KEYS[2] is lost.
-- SET … GET writes it and reads the last one in one command. What turns out to be wrong is put right below.
local time = redis.call('time')
local number = (time[1] - 946684800) * 31250 + math.floor(time[2] / 32)
local last = redis.call('set', KEYS[2], number, 'PX', 86400000, 'GET') or 0
if not tonumber(last) or tonumber(last) >= 2 ^ 53 - 1 then -- a number in Lua is exact up to 2^53 only
  redis.call('set', KEYS[2], last) -- as it was, but without an expiry
  return redis.error_reply('ERR the token counter ' .. KEYS[2] .. ' is no number below 2^53: delete it, and tokens follow the clock')
end
if tonumber(last) >= number then -- the clock is behind
  number = last + 1
  redis.call('set', KEYS[2], number, 'PX', 86400000)
end
redis.call('hset', KEYS[1], ARGV[2], 1)
local expires = redis.pcall('pexpire', KEYS[1], ARGV[1])
if expires == 1 then return {number, 0} end
redis.call('hdel', KEYS[1], ARGV[2]) -- the user may not call PEXPIRE: without an expiry the key would stay locked for ever
return redis.error_reply('PEXPIRE: ' .. expires.err)
