-- Takes the lock for an owner, or says for how long another has it, and puts the process into the queue.
--
-- KEYS[1] the lock: a hash, owner -> hold count, always with an expiry (Redisson's RLock)
-- KEYS[2] the fence counter: the last number that was granted or reserved
-- KEYS[3] the queue of the processes that wait: process -> since when, in microseconds
-- KEYS[4] the turn: the process for which a lock that was freed is kept for a moment, or nobody of ours
-- KEYS[5] the channel on which releases are told (Redisson's); every script gets these five, in this order
-- ARGV[1] the lease in milliseconds
-- ARGV[2] the owner
-- ARGV[3] the process
-- ARGV[4] how many fences to reserve
-- ARGV[5] since when the process has been in the queue; 0: it is not
-- ARGV[6] for how long the queue may live without a word, in milliseconds; 0: this attempt does not wait
-- Reply   {fence, 0} granted; the same owner asking again is granted again, so a repeated request is harmless
--         {0, ms, since} another's for so long; -1: without an expiry
local function now()
  local time = redis.call('time')
  return time[1] * 1000000 + time[2]
end

local side = redis.call('mget', KEYS[2], KEYS[4])
local last, turn = tonumber(side[1] or '0'), side[2]

local called = turn == ARGV[3]
if called then redis.call('del', KEYS[4]) end

local left
if redis.call('exists', KEYS[1]) == 1 then
  if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then left = redis.call('pttl', KEYS[1]) end
elseif turn and not called then
  left = redis.call('pttl', KEYS[4])
end

local since = tonumber(ARGV[5])
if left then
  if ARGV[6] ~= '0' then
    if since == 0 then since = now() end
    redis.call('zadd', KEYS[3], 'NX', since, ARGV[3])
    redis.call('pexpire', KEYS[3], ARGV[6])
  end
  return {0, left, since}
end

if since > 0 and not called then redis.call('zrem', KEYS[3], ARGV[3]) end -- the call has taken it out
redis.call('hset', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])

-- The server's time in microseconds, or one more than the last fence: so it grows although the
-- counter may expire, and although a failover may have lost the last increments.
local fence = math.max(now(), last + 1)
redis.call('set', KEYS[2], fence + ARGV[4] - 1, 'PX', 86400000)
return {fence, 0}
