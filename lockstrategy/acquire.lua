-- Takes the lock for an owner, or says for how long another holds it.
--
-- KEYS[1] the lock: a hash, owner -> hold count, always with an expiry (Redisson's RLock)
-- KEYS[2] the fence counter: the number of the last grant
-- ARGV[1] the lease in milliseconds
-- ARGV[2] the owner
-- Reply   {fence, 0} granted; the same owner asking again is granted again, so a repeated request is harmless
--         {0, pttl}  another's for pttl more milliseconds; -1: without an expiry
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {0, redis.call('pttl', KEYS[1])}
end
redis.call('hset', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])

-- The server's time in microseconds, or one more than the last fence: so it grows although the
-- counter may expire, and although a failover may have lost the last increments.
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('get', KEYS[2]) or '0')
local fence = math.max(now, last + 1)
redis.call('set', KEYS[2], string.format('%.0f', fence), 'PX', 86400000)
return {fence, 0}
