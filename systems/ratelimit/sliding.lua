-- Admits a call if the window that ends with it has room. It keeps the time of each admitted call of the last window, so no window
-- exceeds the limit, and memory grows with the limit.
--
-- KEYS[1] a sorted set: a member for each admitted call, by its time in microseconds
-- ARGV[1] the calls that are allowed in any window
-- ARGV[2] the window, in milliseconds
-- Reply   {remaining, wait} the calls that remain, or -1 when this one is refused; the milliseconds until the limit is whole again, or
--         until the oldest call leaves the window
local limit, window = tonumber(ARGV[1]), ARGV[2] * 1000
local time = redis.call('time') -- the server's: one clock for all instances
local now = time[1] * 1000000 + time[2]
redis.call('zremrangebyscore', KEYS[1], '-inf', string.format('%.0f', now - window))
local count = redis.call('zcard', KEYS[1])
if count >= limit then
  local oldest = redis.call('zrange', KEYS[1], 0, 0, 'withscores')
  return {-1, math.ceil((oldest[2] + window - now) / 1000)}
end
-- Two calls of one microsecond need two members. A clock that is set back must not reuse one either.
local newest = redis.call('zrevrange', KEYS[1], 0, 0, 'withscores')
if newest[2] and tonumber(newest[2]) >= now then
  now = newest[2] + 1
end
local at = string.format('%.0f', now) -- all of its digits
redis.call('zadd', KEYS[1], at, at)
redis.call('pexpire', KEYS[1], ARGV[2])
return {limit - count - 1, tonumber(ARGV[2])}
