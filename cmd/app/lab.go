package main

type labCommand struct {
	List       labListCommand       `cmd:"" help:"Say which experiments there are, what each needs, and how long it takes."`
	Show       labShowCommand       `cmd:"" help:"Say what an experiment claims, what the articles say of it, and how it is run."`
	Run        labRunCommand        `cmd:"" help:"Run experiments, judge and save what was seen."`
	Check      labCheckCommand      `cmd:"" help:"Judge again: a saved run, or what a load tool wrote: JMeter's CSV (.jtl), or k6's summary."`
	Matrix     labMatrixCommand     `cmd:"" help:"Show which lock was violated, anomaly by anomaly, as the saved runs have it."`
	Pages      labPagesCommand      `cmd:"" help:"Write docs/experiments and docs/errata.md from the code and the saved runs."`
	Explore    labExploreCommand    `cmd:"" help:"Try every interleaving of the steps of an experiment's locks, and show the shortest that violates."`
	Step       labStepCommand       `cmd:"" help:"Play a lock of an experiment by hand: which client does its next command, which dies, when does time pass?"`
	Topologies labTopologiesCommand `cmd:"" help:"Fire with our load, k6 and JMeter at the containers over each topology, kill the master once, and write the page that compares. A lab that is up is taken over, and taken down at the end."`
}
