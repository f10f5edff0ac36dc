-- Takes the lock for an owner, or says for how long another has it.
--
-- KEYS[1] the lock: a hash, owner -> hold count, always with an expiry (Redisson's RLock)
-- KEYS[2] the last fencing token that was granted or reserved; it expires a day after the last grant
-- ARGV    [1] the lease in milliseconds; [2] the owner; [3] how many fencing tokens to reserve
-- Reply   {token, 0} granted: the same owner asking again is granted again, so a repeated request is harmless
--         {0, ms} refused: what is left of the other owner's lease; -1: its key has no expiry
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {0, redis.call('pttl', KEYS[1])}
end
-- A token is the server's time in microseconds, or the last token plus one. So it grows even when the counter is lost.
local time = redis.call('time')
local token = time[1] * 1000000 + time[2]
local last = redis.call('set', KEYS[2], token + ARGV[3] - 1, 'PX', 86400000, 'GET') or 0
if not tonumber(last) or tonumber(last) >= 2 ^ 53 - ARGV[3] then -- a number in Lua is exact up to 2^53 only
  redis.call('set', KEYS[2], last)
  return redis.error_reply('ERR the token counter ' .. KEYS[2] .. ' is no number below 2^53: delete it, and tokens follow the clock')
end
if tonumber(last) >= token then -- the clock is behind
  token = last + 1
  redis.call('set', KEYS[2], token + ARGV[3] - 1, 'PX', 86400000)
end
redis.call('hset', KEYS[1], ARGV[2], 1)
local expires = redis.pcall('pexpire', KEYS[1], ARGV[1])
if expires == 1 then return {token, 0} end
redis.call('hdel', KEYS[1], ARGV[2]) -- it was refused: a key without an expiry would stay locked for ever
return redis.error_reply('PEXPIRE: ' .. expires.err)
