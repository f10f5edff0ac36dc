-- Reads the counter for a holder, and registers its fencing token and its name: from now on no other holder can write, until one has read.
--
-- Two masters of a split brain can grant one token to two holders. The second of them is refused here, unless a holder of another lock
-- has read between them. Then both are registered, one after the other, and write.lua tells them apart by their names.
-- Tokens of two locks are not compared: the numbers of etcd and of Redis have nothing to do with each other.
--
-- KEYS[1] the counter, a decimal number
-- KEYS[2] the last registration: ARGV[1] to ARGV[3] of a read, with spaces between; in the counter's slot
-- ARGV[1] the name of the lock, without a space
-- ARGV[2] this holder's fencing token, from 1, a decimal number
-- ARGV[3] this holder's name: random, of this read only, without a space. Registrations of older programs have none
-- Reply   {token, value} this holder's token, and the counter
--         {token} refused: the registered token, after the name of its lock
--
-- Tokens have 64 bits and Lua's numbers 53, so tokens are compared as text, without leading zeros. The longer is the larger one, and
-- of equal length the one that sorts last.
local function newer(a, b)
  return #a > #b or (#a == #b and a > b)
end

local registered = redis.call('get', KEYS[2]) or ''
local lock, newest = registered:match('^(%S+) (%d+)')
if lock == ARGV[1] and not newer(ARGV[2], newest) then
  return {lock .. ' ' .. newest}
end
local value = redis.pcall('get', KEYS[1]) or '0'
if type(value) == 'table' then -- an error: the key is no text
  return value
end
redis.call('set', KEYS[2], table.concat(ARGV, ' '))
return {ARGV[2], value}
