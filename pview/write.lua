-- Writes the counter for the holder whose fencing token is registered: for the one that has read last.
--
-- KEYS, ARGV[1], ARGV[2] as in read.lua
-- ARGV[3] the counter's new value
-- Reply   {registered, value} this holder's token, and what it has written
--         {registered} refused: another holder has read since; empty: nothing is registered any more
local registered = redis.call('get', KEYS[2]) or ''
if registered ~= ARGV[1] .. ' ' .. ARGV[2] then
  return {registered}
end
redis.call('set', KEYS[1], ARGV[3])
return {registered, ARGV[3]}
