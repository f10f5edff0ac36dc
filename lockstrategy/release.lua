-- Frees the lock, if the owner still has it.
--
-- KEYS    as in acquire.lua
-- ARGV[1] the owner
-- ARGV[2] publish, or spublish where channels are sharded
-- ARGV[3] for how long the lock is kept for who has waited longest, in milliseconds
-- ARGV[4] the process, if it wants the lock again, behind those that wait; or nothing
-- Reply   {0} the lock is not the owner's
--         {1, since, heard} released; since when the owner's process waits (0: it need not, nobody else does), and how
--         many heard that the lock is free
if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then -- there is one owner at most: with it goes the key
  return {0}
end
local longest, heard = free(KEYS[3], KEYS[4], ARGV[3], ARGV[2], KEYS[5])
local since = 0
if longest and ARGV[4] ~= '' then
  local time = redis.call('time')
  since = time[1] * 1000000 + time[2]
  redis.call('zadd', KEYS[3], string.format('%.0f', since), ARGV[4])
  redis.call('pexpire', KEYS[3], 60000)
end
return {1, since, heard}
