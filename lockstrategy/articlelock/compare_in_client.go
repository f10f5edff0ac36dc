package articlelock

// CompareInClient reads whether the lock is its own, and deletes it with a second command. In between another client may
// have taken it.
var CompareInClient = Lock{
	Name: "SET NX PX, GET, DEL", Article: "A2, A3", ViolatedIn: "L03",
	Acquire: []Step{setNXPX},
	Release: []Step{getAndCompare, del},
}

// getAndCompare goes on if the lock contains the client's value.
var getAndCompare = Step{
	Name:    "GET",
	Command: func(*Client) []any { return []any{"GET", Key} },
	Then: func(c *Client, reply any) Next {
		if c.Found, _ = reply.(string); c.Found != c.Value {
			return NotHeld
		}
		return Continue
	},
}
