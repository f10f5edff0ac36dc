-- Extends the lease, if the owner still has it. It never creates the key.
--
-- KEYS[1] the lock
-- ARGV[1] the lease in milliseconds
-- ARGV[2] the owner
-- Reply   1 extended; 0 the lock is not the owner's
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return 0
end
return redis.call('pexpire', KEYS[1], ARGV[1])
