package naive

// CompareInClient looks whether the lock is its own, and deletes it with a second command: in between it may have become
// another's.
var CompareInClient = Lock{
	Name: "SET NX PX, GET, DEL", Article: "A2, A3", ViolatedIn: "L03",
	Acquire: []Step{setNXPX},
	Release: []Step{{
		Name:    "GET",
		Command: func(*Client) []any { return []any{"GET", Key} },
		Then: func(c *Client, answer any) Next {
			if c.Found, _ = answer.(string); c.Found != c.Value {
				return Skip
			}
			return On
		},
	}, del},
}
