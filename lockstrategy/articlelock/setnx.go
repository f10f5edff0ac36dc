package articlelock

// SETNX has no expiry: a holder that dies locks the key for ever. A0 and A2 begin with it.
var SETNX = Lock{
	Name: "SETNX, DEL", Article: "A0, A2", ViolatedIn: "L01, L12",
	Acquire: []Step{setNX},
	Release: []Step{del},
}

var setNX = Step{
	Name:    "SETNX",
	Command: func(c *Client) []any { return []any{"SETNX", Key, c.Value} },
	Then:    won,
}
