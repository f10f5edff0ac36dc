package main

// labCommand holds what is done with experiments.
type labCommand struct {
	Explore    labExploreCommand    `cmd:"" help:"Try every order of the steps of an experiment's locks, and show the shortest that breaks."`
	Step       labStepCommand       `cmd:"" help:"Play a lock of an experiment by hand: which client does its next command, which dies, when does time pass?"`
	Check      labCheckCommand      `cmd:"" help:"Judge what a load tool left: JMeter's .jtl, CSV or XML, or k6's summary."`
	Topologies labTopologiesCommand `cmd:"" help:"Fire with our load, k6 and JMeter at the containers over each topology, kill the master once, and write the page that compares. A lab that is up is taken over, and taken down at the end."`
}
