package naive

// Counted is Redisson's lock, as A1 shows its scripts: a hash with the owner and how often it has entered. In the middle of
// its work the client enters again, as a function does that takes the lock of its caller. The lock is free at zero.
var Counted = Lock{
	Name: "hash with a count, entered twice", Article: "A1",
	Acquire: []Step{enterCounted("script: HINCRBY +1")},
	Renew:   []Step{enterCounted("script: HINCRBY +1 (again)"), leaveCounted("script: HINCRBY -1 (inner)")},
	Release: []Step{leaveCounted("script: HINCRBY -1")},
}

// Uncounted lets its owner enter again and does not count: the inner release frees the lock.
var Uncounted = Lock{
	Name: "owner without a count, entered twice", ViolatedIn: "L08",
	Acquire: []Step{enterUncounted("script: mine or SET NX PX")},
	Renew:   []Step{enterUncounted("script: mine or SET NX PX (again)"), compareAndDelete},
	Release: []Step{compareAndDelete},
}

func enterCounted(name string) Step {
	return script(name, won, `
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
return redis.call('pexpire', KEYS[1], ARGV[2])`)
}

func leaveCounted(name string) Step {
	return script(name, nil, `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 'not yours' end
local left = redis.call('hincrby', KEYS[1], ARGV[1], -1)
if left == 0 then redis.call('del', KEYS[1]) end
return left`)
}

func enterUncounted(name string) Step {
	return script(name, won, `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`)
}
