-- Frees the lock, whoever has it.
--
-- KEYS[1] the lock  KEYS[2] its channel  KEYS[3] the queue  KEYS[4] the turn (see acquire.lua)
-- ARGV[1], ARGV[2] as ARGV[2], ARGV[3] in release.lua
-- Reply   {1} somebody had it; {0} nobody
if redis.call('del', KEYS[1]) == 0 then
  return {0}
end
free(KEYS[3], KEYS[4], ARGV[2], ARGV[1], KEYS[2])
return {1}
