-- Extends the lease, if the owner still holds the lock. It never creates the key.
--
-- KEYS[1] the lock
-- ARGV    [1] the lease in milliseconds, 0: leave it as it is; [2] the owner
-- Reply   {1} the owner holds it; {0} it does not
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return {0}
end
if ARGV[1] ~= '0' then
  return {redis.call('pexpire', KEYS[1], ARGV[1])}
end
return {1}
