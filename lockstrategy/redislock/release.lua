-- Frees the lock, if the owner still holds it, and notifies the processes that wait. It notifies them too when nobody
-- holds the lock: then it was deleted, and nobody else tells them.
--
-- KEYS[1] the lock
-- ARGV    the owner; publish, or spublish where channels are sharded; the channel (Redisson's, which takes '0' for "released"). It is no
--         key: a cluster refuses a script of two keys, one of which does not exist, while it moves their slot
-- Reply   {1 the owner held it, 0 it did not; how many subscribers were notified, -1: the user may not publish, -2: not published}
local held = redis.call('hdel', KEYS[1], ARGV[1]) -- the hash has one owner at most: this deletes the key
if held == 1 or redis.call('exists', KEYS[1]) == 0 then
  return {held, tonumber(redis.pcall(ARGV[2], ARGV[3], '0')) or -1}
end
return {held, -2}
