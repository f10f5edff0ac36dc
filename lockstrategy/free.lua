-- Stands before release, leave and force: the lock is free. The process that has waited longest is called, and the
-- lock kept for it for a moment; then everybody else is told. Java takes '0' for "free" and ignores other numbers.
--
-- Java would never win against a process that is called. So while somebody listens who is not in the queue, every
-- other time, by the clock's last digit, the lock is kept from everybody who is: the called one finds it so, and
-- comes back a little later. The others leave it the lead, for the stranger may be a process of ours that
-- listens on and does not wait.
--
-- here is 1 if the caller listens itself. The queue is counted only where others are left who heard the call. Returns
-- the process in front, if there is one, and how many heard that the lock is free.
local function free(queue, turn, publish, channel, here, grace, later)
  local first = redis.call('zpopmin', queue)[1]
  if first then
    local others = redis.call(publish, channel, first) - 1 - here
    if others > 0 and others > redis.call('zcard', queue) and redis.call('time')[2] % 2 == 0 then
      redis.call('set', turn, 'nobody', 'PX', later)
    else
      redis.call('set', turn, first, 'PX', grace)
    end
  end
  return first, redis.call(publish, channel, '0')
end
