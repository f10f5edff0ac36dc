-- Takes a process out of the queue. If it has been called meanwhile, the next one is.
--
-- KEYS    as in acquire.lua
-- ARGV[1] to ARGV[4] as in release.lua
-- ARGV[5] the process
-- Reply   {1} it was called; {0} it was not
redis.call('zrem', KEYS[3], ARGV[5])
if redis.call('get', KEYS[4]) ~= ARGV[5] then
  return {0}
end
redis.call('del', KEYS[4])
if redis.call('exists', KEYS[1]) == 0 then
  free(KEYS[3], KEYS[4], ARGV[1], KEYS[5], ARGV[2], ARGV[3], ARGV[4])
end
return {1}
