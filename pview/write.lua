-- Writes the counter for a holder, unless a holder with a newer fencing token has read or written it. An equal token is the same holder.
--
-- KEYS    as in read.lua
-- ARGV[1] this holder's fencing token, from 1
-- ARGV[2] the counter's new value
-- Reply   {token} the newest one: this holder's if it has written, a larger one if it was refused
local newest = redis.call('get', KEYS[2]) or '0'
if newer(newest, ARGV[1]) then
  return {newest}
end
redis.call('mset', KEYS[1], ARGV[2], KEYS[2], ARGV[1])
return {ARGV[1]}
