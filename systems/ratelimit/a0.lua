-- The script of A0's listing, with milliseconds. Its caller does not look at the reply.
--
-- KEYS[1] the counter
-- ARGV[1] the window, in milliseconds
-- Reply   the number of calls, this one included
local count = redis.call('incr', KEYS[1])
if count == 1 then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
local ttl = redis.call('pttl', KEYS[1])
if ttl == -1 then -- the counter has no expiry: another program made it
  redis.call('pexpire', KEYS[1], ARGV[1])
end
return count
