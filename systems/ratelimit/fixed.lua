-- Counts one call of a fixed window, which begins with its first call. A refused call is not counted.
--
-- KEYS[1] the counter
-- ARGV[1] the calls that are allowed in a window
-- ARGV[2] the window, in milliseconds
-- Reply   {remaining, reset} the calls that remain, or -1 when this one is refused; the milliseconds until the window ends
local window = math.floor(ARGV[2]) -- an error here, before any write: a script that fails keeps what it has written
local count = tonumber(redis.call('get', KEYS[1]) or 0)
if not count then
  return redis.error_reply('ERR value is not an integer or out of range')
end
local reset = redis.call('pttl', KEYS[1])
if reset < 0 then -- there is no counter; or another program made one without an expiry, which would refuse for ever
  redis.call('set', KEYS[1], count, 'px', window)
  reset = window
end
if count >= tonumber(ARGV[1]) then
  return {-1, reset}
end
return {ARGV[1] - redis.call('incr', KEYS[1]), reset}
