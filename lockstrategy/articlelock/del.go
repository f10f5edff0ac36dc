package articlelock

// PlainDEL takes the lock correctly and releases it by DEL: after its lease it deletes the next holder's lock.
var PlainDEL = Lock{
	Name: "SET NX PX, DEL", Article: "A0, A2", ViolatedIn: "L03",
	Acquire: []Step{setNXPX},
	Release: []Step{del},
}
