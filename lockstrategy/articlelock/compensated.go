package articlelock

// CompensatedByScript releases, by comparison, what an acquire with a lost reply may have taken.
var CompensatedByScript = Lock{
	Name:       "SET NX PX, compensated by script",
	Acquire:    []Step{setNXPX},
	Release:    []Step{compareAndDelete},
	Compensate: []Step{compareAndDelete},
}

// CompensatedByDEL compensates such an acquire by DEL. The client does not know whether the acquire was refused: then it
// deletes the holder's lock.
var CompensatedByDEL = Lock{
	Name: "SET NX PX, compensated by DEL", ViolatedIn: "L12",
	Acquire:    []Step{setNXPX},
	Release:    []Step{compareAndDelete},
	Compensate: []Step{del},
}
