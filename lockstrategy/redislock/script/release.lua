-- Frees the lock, if the owner still holds it, and notifies the processes that wait. It notifies them too when nobody
-- holds the lock: then it was deleted, and nobody else tells them.
--
-- KEYS[1] the lock
-- ARGV    [1] the owner; [2] publish, or spublish where channels are sharded; [3] the channel
-- Reply   {1 the owner held it, 0 it did not; how many subscribers were notified, -1: the user may not publish, -2: not published}
--
-- The channel is Redisson's, which takes '0' for "released". It is no key: while a cluster moves a slot, it refuses a script of two keys
-- one of which does not exist.
local held = redis.call('hdel', KEYS[1], ARGV[1]) -- the hash has one owner at most: this deletes the key
if held == 1 or redis.call('exists', KEYS[1]) == 0 then
  return {held, tonumber(redis.pcall(ARGV[2], ARGV[3], '0')) or -1}
end
return {held, -2}
