-- Writes the counter, unless a holder with a newer fencing token has written it.
--
-- KEYS[1] the counter, a decimal number
-- KEYS[2] the newest fencing token of a write, a decimal number; in the counter's slot
-- ARGV[1] the counter's new value
-- ARGV[2] this holder's fencing token, from 1, without leading zeros
-- Reply   the newest token: this holder's if it has written, a larger one if it was refused
--
-- Tokens have 64 bits and Lua's numbers 53, so tokens are compared as text. The longer is the larger one, and of equal length the
-- one that sorts last.
local newest = redis.call('get', KEYS[2]) or '0'
if #newest > #ARGV[2] or (#newest == #ARGV[2] and newest > ARGV[2]) then
  return newest
end
redis.call('mset', KEYS[1], ARGV[1], KEYS[2], ARGV[2])
return ARGV[2]
