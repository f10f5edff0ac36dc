-- Sets the counter, and takes the registration over: no holder that has read before can write any more. The lock and its fencing token
-- stay, so that tokens are compared as before.
--
-- KEYS    as in read.lua
-- ARGV[1] the counter's new value
-- ARGV[2] a random name, as that of a read
local registered = (redis.call('get', KEYS[2]) or ''):match('^%S+ %d+')
if registered then -- otherwise nobody with a token has read
  redis.call('set', KEYS[2], registered .. ' ' .. ARGV[2])
end
return redis.call('set', KEYS[1], ARGV[1])
