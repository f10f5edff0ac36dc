package articlelock

// ExtendBySET takes the lock correctly and extends it by A0's script to extend, which begins with SET: it takes the lock from
// its holder.
var ExtendBySET = Lock{
	Name: "SET NX PX, extended by SET", Article: "A0", ViolatedIn: "L10",
	Acquire: []Step{setNXPX},
	Renew:   []Step{setScript("script: SET, EXPIRE (extend)")},
	Release: []Step{compareAndDelete},
}

// Extend extends only the client's own lock.
var Extend = Lock{
	Name:    "SET NX PX, extended by comparison",
	Acquire: []Step{setNXPX},
	Renew: []Step{script("script: compare, PEXPIRE", nil,
		"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0")},
	Release: []Step{compareAndDelete},
}
