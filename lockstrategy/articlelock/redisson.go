package articlelock

// Redisson is the lock of Redisson 3.2.3, with the commands of the scripts that A1 and A3 print. The lock is a hash with the
// owner and how often it has entered. When the key is gone, its release answers 1, released, to any client.
var Redisson = Lock{
	Name: "hash with a count", Article: "A1, A3", ViolatedIn: "L17, L19",
	Acquire: []Step{enterCounted("script: HSET 1")},
	Release: []Step{leaveCounted("script: HINCRBY -1", answersAnybody)},
}

// RedissonOwnerFirst looks for the owner first, as Redisson does since 2019.
var RedissonOwnerFirst = Lock{
	Name:    "hash with a count, owner checked first",
	Acquire: Redisson.Acquire,
	Release: []Step{leaveCounted("script: HEXISTS, HINCRBY -1", "")},
}

// enterCounted replies nil to a client that is in, and to any other how many milliseconds are left.
func enterCounted(name string) Step {
	return script(name, enteredByNil, `
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('hset', KEYS[1], ARGV[1], 1)
elseif redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
else
  return redis.call('pttl', KEYS[1])
end
redis.call('pexpire', KEYS[1], ARGV[2])
return nil`)
}

func enteredByNil(_ *Client, reply any) Next {
	if reply != nil {
		return Refused
	}
	return Continue
}

// answersAnybody is what Redisson's release began with.
const answersAnybody = `
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('publish', 'redisson_lock__channel:{' .. KEYS[1] .. '}', 0)
  return 1
end`

// leaveCounted replies 1: the lock is free; 0: the owner is still in; nil: the client is not the owner.
func leaveCounted(name, begin string) Step {
	return script(name, ownerLeft, begin+`
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', 'redisson_lock__channel:{' .. KEYS[1] .. '}', 0)
return 1`)
}

func ownerLeft(_ *Client, reply any) Next {
	if reply == nil {
		return NotHeld
	}
	return Continue
}
