package articlelock

// SETNXScript is A0's script, mended: SETNX, and its reply compared with 1. No client can die between SETNX and the expiry.
var SETNXScript = Lock{
	Name: "script: SETNX, PEXPIRE",
	Acquire: []Step{script("script: SETNX, PEXPIRE", won,
		"if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0")},
	Release: []Step{compareAndDelete},
}
