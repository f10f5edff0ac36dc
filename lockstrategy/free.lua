-- Stands before release, leave and force: the lock is free. The process that has waited longest is called, and the
-- lock kept for it for a moment; then everybody else is told. Java takes '0' for "free" and ignores other numbers.
local function free(queue, turn, grace, publish, channel)
  local longest = redis.call('zpopmin', queue)[1]
  if longest then
    redis.call('set', turn, longest, 'PX', grace)
    redis.call(publish, channel, longest)
  end
  return longest, redis.call(publish, channel, '0')
end
