package naive

// UndoneByScript gives back, by comparison, what an acquire without an answer may have taken.
var UndoneByScript = Lock{
	Name:    "SET NX PX, undone by script",
	Acquire: []Step{setNXPX},
	Release: []Step{compareAndDelete},
	Undo:    []Step{compareAndDelete},
}

// UndoneByDEL undoes such an acquire by DEL. If it was refused, which it does not know, it deletes the holder's lock.
var UndoneByDEL = Lock{
	Name: "SET NX PX, undone by DEL", ViolatedIn: "L12",
	Acquire: []Step{setNXPX},
	Release: []Step{compareAndDelete},
	Undo:    []Step{del},
}
