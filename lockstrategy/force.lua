-- Frees the lock, whoever has it.
--
-- KEYS    as in acquire.lua
-- ARGV[1] to ARGV[4] as in release.lua
-- Reply   {1} somebody had it; {0} nobody
if redis.call('del', KEYS[1]) == 0 then
  return {0}
end
free(KEYS[3], KEYS[4], ARGV[1], KEYS[5], ARGV[2], ARGV[3], ARGV[4])
return {1}
