package naive

// SETNXScript puts SETNX and its expiry into one script: no client can die between them.
var SETNXScript = Lock{
	Name: "script: SETNX, PEXPIRE", Article: "A0",
	Acquire: []Step{{
		Name: "script: SETNX, PEXPIRE",
		Command: func(c *Client) []any {
			const script = "if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
			return eval(script, c.Value, c.Millis())
		},
		Then: won,
	}},
	Release: []Step{compareAndDelete},
}
