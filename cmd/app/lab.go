package main

type labCommand struct {
	List       labListCommand       `cmd:"" help:"List the experiments, with what each needs and how long it takes."`
	Show       labShowCommand       `cmd:"" help:"Show the lesson of an experiment, with its answer: question, claim, variants, why, fix, limits, what the articles say."`
	Run        labRunCommand        `cmd:"" help:"Run experiments, judge them, and save what they recorded."`
	Try        labTryCommand        `cmd:"" help:"Try any lock: a program of yours, in any language, that speaks the protocol of docs/protocol.md."`
	Serve      labServeCommand      `cmd:"" help:"Serve the live page on this machine: a story in seven scenes, bursts, locks step by step, servers to break, and every experiment."`
	Check      labCheckCommand      `cmd:"" help:"Judge a saved run again, or the file of a load tool: JMeter's CSV (.jtl), or k6's summary."`
	Matrix     labMatrixCommand     `cmd:"" help:"Show which lock was violated by which anomaly in the saved runs."`
	Compare    labCompareCommand    `cmd:"" help:"Compare the locks on all backends, from the saved runs and the file of make bench."`
	Pages      labPagesCommand      `cmd:"" help:"Write docs/experiments and docs/errata.md from the code and the saved runs."`
	Explore    labExploreCommand    `cmd:"" help:"Try every interleaving of the steps of an experiment's locks, and show the shortest that violates."`
	Step       labStepCommand       `cmd:"" help:"Execute a lock by hand: choose which client executes its next command, which dies, and when time passes."`
	Topologies labTopologiesCommand `cmd:"" help:"Send the load of our program, k6 and JMeter to the containers over each topology, kill the master once, and write docs/topologies.md. Containers that are up are taken over, and removed at the end."`
}
