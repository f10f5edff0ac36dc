package articlelock

// IgnoredReply says that it holds the lock whatever the server replied, as A3's acquire does, if its call is
// read as tryLock.
var IgnoredReply = Lock{
	Name: "SET NX PX, reply ignored", Article: "A3", ViolatedIn: "L10",
	Acquire: []Step{{Name: setNXPX.Name, Command: setNXPX.Command}},
	Release: []Step{compareAndDelete},
}
