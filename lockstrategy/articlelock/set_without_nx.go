package articlelock

// SETWithoutNX is A0's pair of scripts, to lock and to extend. Both begin with a SET that always succeeds: the first
// excludes no client, the second takes the lock from its holder.
var SETWithoutNX = Lock{
	Name: "script: SET, EXPIRE", Article: "A0", ViolatedIn: "L10",
	Acquire: []Step{setScript("script: SET, EXPIRE")},
	Renew:   []Step{setScript("script: SET, EXPIRE (extend)")},
	Release: []Step{compareAndDelete},
}

func setScript(name string) Step {
	return script(name, won, "redis.call('set', KEYS[1], ARGV[1]) return redis.call('pexpire', KEYS[1], ARGV[2])")
}
