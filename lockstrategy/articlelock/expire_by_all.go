package articlelock

// EXPIREByAll is case 2 of A2 as it is printed: EXPIRE runs before the client looks at the answer of SETNX. So a refused client extends
// the lease of the holder.
var EXPIREByAll = Lock{
	Name: "SETNX, EXPIRE by all, DEL", Article: "A2", ViolatedIn: "L25",
	Acquire: []Step{
		{
			Name: setNX.Name, Command: setNX.Command,
			Then: func(c *Client, reply any) Next {
				c.Refused = won(c, reply) == Refused
				return Continue
			},
		},
		{
			Name: pexpire.Name, Command: pexpire.Command,
			Then: func(c *Client, _ any) Next {
				if c.Refused {
					return Refused
				}
				return Continue
			},
		},
	},
	Release: []Step{del},
}
