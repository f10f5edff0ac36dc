package naive

// Unheard says that it has the lock whatever the server has answered, as A3's acquire does.
var Unheard = Lock{
	Name: "SET NX PX, answer not looked at", Article: "A3", ViolatedIn: "L10",
	Acquire: []Step{{Name: setNXPX.Name, Command: setNXPX.Command}},
	Release: []Step{compareAndDelete},
}
