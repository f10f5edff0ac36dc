-- Frees the lock, if the owner still holds it, and notifies the processes that wait. It notifies them too when nobody
-- holds the lock: then it was deleted, and nobody else tells them.
--
-- KEYS[1] the lock
-- KEYS[2] the channel (Redisson's, which takes '0' for "released")
-- ARGV    the owner; publish, or spublish where channels are sharded
-- Reply   how many subscribers were notified; -1: the user may not publish; -2: the owner did not hold the lock
if redis.call('hdel', KEYS[1], ARGV[1]) == 1 then -- there is one owner at most: with it goes the key
  return tonumber(redis.pcall(ARGV[2], KEYS[2], '0')) or -1
end
if redis.call('exists', KEYS[1]) == 0 then
  redis.pcall(ARGV[2], KEYS[2], '0')
end
return -2
