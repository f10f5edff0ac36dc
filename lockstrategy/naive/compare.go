package naive

// Compare is what the articles arrive at: one command to take the lock, one script to give it back. Its commands cannot
// be torn apart. It is not renewed and has no fence, so it breaks with a lease that is too short: L05, L11. And it
// gives up without a word when no answer comes.
var Compare = Lock{
	Name: "SET NX PX, script", Article: "A0, A2, A3", ViolatedIn: "L12",
	Acquire: []Step{setNXPX},
	Release: []Step{compareAndDelete},
}
