package articlelock

// SETNXThenEXPIRE sets the expiry by a second command. A client that dies between the two locks the key for ever. A3's
// second form takes the lock so, and A3's releases compare the value.
var SETNXThenEXPIRE = Lock{
	Name: "SETNX, EXPIRE, DEL", Article: "A0, A2, A3", ViolatedIn: "L02",
	Acquire: []Step{setNX, pexpire},
	Release: []Step{del},
}

// pexpire sets the expiry of the lock, whichever client holds it.
var pexpire = Step{
	Name:    "PEXPIRE",
	Command: func(c *Client) []any { return []any{"PEXPIRE", Key, c.Millis()} },
}
