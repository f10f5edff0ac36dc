package articlelock

// SharedValue stores the driver's id, as A2 does: two attempts of one driver look the same, and one releases the other's
// lock although it compares.
var SharedValue = Lock{
	Name: "SET NX PX by driver id, script", Article: "A2", ViolatedIn: "L04",
	Acquire: []Step{setNXPX},
	Release: []Step{compareAndDelete},
	Shared:  true,
}
