-- Writes the counter if this holder registered last. The name is compared as well, because another holder may have the same token.
--
-- KEYS, ARGV[1] to ARGV[3] as in read.lua
-- ARGV[4] the counter's new value
-- Reply   {token, value}: this holder's token and the written value
--         {"lock token"}: refused, because of this registration; empty if nothing is registered any more
local registered = redis.call('get', KEYS[2]) or ''
if registered ~= table.concat(ARGV, ' ', 1, 3) then
  return {registered:match('^%S+ %d+') or ''}
end
redis.call('set', KEYS[1], ARGV[4])
return {ARGV[2], ARGV[4]}
