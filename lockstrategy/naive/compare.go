package naive

// Compare is what the articles arrive at: one command to take the lock, one script to release it. No client can come between
// its commands. It is not renewed and has no fencing token, so a lease that is too short violates it (L05, L11). When no
// reply comes it stops, and leaves the lock behind.
var Compare = Lock{
	Name: "SET NX PX, script", Article: "A0, A2, A3", ViolatedIn: "L12",
	Acquire: []Step{setNXPX},
	Release: []Step{compareAndDelete},
}
