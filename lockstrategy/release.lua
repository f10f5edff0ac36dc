-- Frees the lock and tells the waiters, if the owner still has it.
--
-- KEYS[1] the lock
-- KEYS[2] the channel that waiters listen to; its message '0' says: free (Redisson)
-- ARGV[1] the owner
-- Reply   1 released; 0 the lock is not the owner's
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], '0')
return 1
