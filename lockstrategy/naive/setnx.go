package naive

// SETNX is the first step of every article: no expiry. A holder that dies locks the key for ever.
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
