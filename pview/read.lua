-- Reads the counter for a holder, and registers its fencing token: from now on no holder with an older one can write.
--
-- KEYS[1] the counter, a decimal number
-- KEYS[2] the newest fencing token of a holder that has read or written, a decimal number; in the counter's slot
-- ARGV[1] this holder's fencing token, from 1
-- Reply   {token, value} this holder's token, and the counter
--         {token} refused: a holder with this newer token has read or written
local newest = redis.call('get', KEYS[2]) or '0'
if newer(newest, ARGV[1]) then
  return {newest}
end
local value = redis.pcall('get', KEYS[1]) or '0'
if type(value) == 'table' then -- an error: the key is no text
  return value
end
redis.call('set', KEYS[2], ARGV[1])
return {ARGV[1], value}
