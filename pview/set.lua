-- Sets the counter and takes over the registration, so that a holder that has read before can no longer write. The registered lock and
-- fencing token stay, so that tokens are compared as before.
--
-- KEYS    as in read.lua
-- ARGV[1] the counter's new value
-- ARGV[2] a random name, like ARGV[3] of read.lua
local registered = (redis.call('get', KEYS[2]) or ''):match('^%S+ %d+')
if registered then -- otherwise no holder with a token has read
  redis.call('set', KEYS[2], registered .. ' ' .. ARGV[2])
end
return redis.call('set', KEYS[1], ARGV[1])
