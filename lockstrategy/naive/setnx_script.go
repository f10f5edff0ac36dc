package naive

// SETNXScript puts SETNX and its expiry into one script: no client can die between them.
var SETNXScript = Lock{
	Name: "script: SETNX, PEXPIRE", Article: "A0",
	Acquire: []Step{script("script: SETNX, PEXPIRE", won,
		"if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0")},
	Release: []Step{compareAndDelete},
}
