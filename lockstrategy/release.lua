-- Frees the lock, if the owner still has it.
--
-- KEYS    as in acquire.lua
-- ARGV[1] publish, or spublish where channels are sharded
-- ARGV[2] 1 if the process listens to the channel; 0
-- ARGV[3] for how long the lock is kept for the process that is called, in milliseconds
-- ARGV[4] for how long for those who are in no queue, in milliseconds
-- ARGV[5] the owner
-- ARGV[6] the process, if it wants the lock again, behind those that wait; or nothing
-- ARGV[7] for how long the queue may live without a word, in milliseconds
-- Reply   {0} the lock is not the owner's
--         {1, since, heard} released; since when the owner's process is in the queue (0: it need not be, nobody else is),
--         and how many heard that the lock is free
if redis.call('hdel', KEYS[1], ARGV[5]) == 0 then -- there is one owner at most: with it goes the key
  return {0}
end
local first, heard = free(KEYS[3], KEYS[4], ARGV[1], KEYS[5], ARGV[2], ARGV[3], ARGV[4])
local since = 0
if first and ARGV[6] ~= '' and first ~= ARGV[6] then
  local time = redis.call('time')
  since = time[1] * 1000000 + time[2]
  redis.call('zadd', KEYS[3], since, ARGV[6])
  redis.call('pexpire', KEYS[3], ARGV[7])
end
return {1, since, heard}
