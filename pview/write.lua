-- Writes the counter, unless a holder with a newer fence has written it.
--
-- KEYS[1] the counter, a decimal number
-- KEYS[2] the newest fence that a write came with, a decimal number; in the counter's slot
-- ARGV[1] the counter's new value
-- ARGV[2] this holder's fence, from 1, without zeros in front
-- Reply   the newest fence: this holder's if it has written, a larger one if it was refused
--
-- Fences have 64 bits and Lua's numbers 53: of two decimal numbers the longer is larger, and of two
-- that are as long the later in the order of words.
local newest = redis.call('get', KEYS[2]) or '0'
if #newest > #ARGV[2] or (#newest == #ARGV[2] and newest > ARGV[2]) then
  return newest
end
redis.call('mset', KEYS[1], ARGV[1], KEYS[2], ARGV[2])
return ARGV[2]
