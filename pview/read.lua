-- Reads the counter for a holder, and registers its fencing token: from now on no other holder can write, until one with a newer token
-- has read.
--
-- A token is registered once. Two masters of a split brain can grant one token to two holders, and the second of them is refused here.
-- Tokens of two locks are not compared: the numbers of etcd and of Redis have nothing to do with each other.
--
-- KEYS[1] the counter, a decimal number
-- KEYS[2] the registered token: the name of its lock, a space, a decimal number; in the counter's slot
-- ARGV[1] the name of the lock, without a space
-- ARGV[2] this holder's fencing token, from 1
-- Reply   {registered, value} this holder's token, and the counter
--         {registered} refused: a holder with this token has read
--
-- Tokens have 64 bits and Lua's numbers 53, so tokens are compared as text, without leading zeros. The longer is the larger one, and
-- of equal length the one that sorts last.
local function newer(a, b)
  return #a > #b or (#a == #b and a > b)
end

local registered = redis.call('get', KEYS[2]) or ''
local lock, newest = registered:match('^(%S+) (%d+)$')
if lock == ARGV[1] and not newer(ARGV[2], newest) then
  return {registered}
end
local value = redis.pcall('get', KEYS[1]) or '0'
if type(value) == 'table' then -- an error: the key is no text
  return value
end
registered = ARGV[1] .. ' ' .. ARGV[2]
redis.call('set', KEYS[2], registered)
return {registered, value}
