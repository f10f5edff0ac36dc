package articlelock

// Counted is [Redisson], entered twice. In the middle of its work the client enters again, as a function does that takes the
// lock of its caller. The lock is free at zero.
var Counted = Lock{
	Name: "hash with a count, entered twice", Article: "A1",
	Acquire: Redisson.Acquire,
	Renew:   []Step{enterCounted("script: HINCRBY +1 (again)"), leaveCounted("script: HINCRBY -1 (inner)", answersAnybody)},
	Release: Redisson.Release,
}

// Uncounted lets its owner enter again and does not count: the inner release frees the lock.
var Uncounted = Lock{
	Name: "owner without a count, entered twice", ViolatedIn: "L08",
	Acquire: []Step{enterUncounted("script: mine or SET NX PX")},
	Renew:   []Step{enterUncounted("script: mine or SET NX PX (again)"), compareAndDelete},
	Release: []Step{compareAndDelete},
}

func enterUncounted(name string) Step {
	return script(name, won, `
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])`)
}
