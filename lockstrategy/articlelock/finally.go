package articlelock

// UnlockInFinally is A3's first listing: unlock stands in a finally block, so that a refused client executes it, too.
var UnlockInFinally = Lock{
	Name: "SET NX PX, DEL in finally", Article: "A3", ViolatedIn: "L18",
	Acquire: []Step{setNXPX},
	Release: []Step{del},
	Finally: true,
}

// ScriptInFinally does the same with a release that compares the value.
var ScriptInFinally = Lock{
	Name:    "SET NX PX, script in finally",
	Acquire: []Step{setNXPX},
	Release: []Step{compareAndDelete},
	Finally: true,
}
