package articlelock

// Compare has one command to take the lock, and one script to release it. A0 and A3 arrive at this. A2 takes the lock so, and releases
// it by two commands. No client can come between the commands of Compare. The lock is not renewed and has no fencing token, so a lease
// that is too short violates it (L05, L11). When no reply comes the client stops, and leaves the lock behind.
var Compare = Lock{
	Name: "SET NX PX, script", Article: "A0, A3", ViolatedIn: "L12",
	Acquire: []Step{setNXPX},
	Release: []Step{compareAndDelete},
}
