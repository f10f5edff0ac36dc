-- Reads the counter and registers the holder, so that no other holder can write until one reads again.
--
-- Two masters of a split brain can grant the same token to two holders. The second one is refused here, unless a holder of another lock
-- has read in between. In that case both are registered, one after the other, and write.lua tells them apart by name.
-- Tokens of two locks are not compared: numbers of etcd and of Redis have nothing in common.
--
-- KEYS[1] the counter, a decimal number
-- KEYS[2] the last registration: ARGV[1] to ARGV[3] of a read, separated by spaces; in the counter's cluster slot
-- ARGV[1] the name of the lock, without a space
-- ARGV[2] this holder's fencing token, a decimal number from 1
-- ARGV[3] this holder's name, random for each read, without a space. Registrations of older programs have none
-- Reply   {token, value}: this holder's token and the counter
--         {"lock token"}: refused, because of this registration
--
-- Tokens have 64 bits but Lua's numbers are exact only to 53, so tokens are compared as text without leading zeros: the longer one is
-- newer, and among equal lengths the one that sorts last.
local function newer(a, b)
  return #a > #b or (#a == #b and a > b)
end

local registered = redis.call('get', KEYS[2]) or ''
local lock, newest = registered:match('^(%S+) (%d+)')
if lock == ARGV[1] and not newer(ARGV[2], newest) then
  return {lock .. ' ' .. newest}
end
local value = redis.pcall('get', KEYS[1]) or '0'
if type(value) == 'table' then -- an error: the key is not a string
  return value
end
redis.call('set', KEYS[2], table.concat(ARGV, ' '))
return {ARGV[2], value}
