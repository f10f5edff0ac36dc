package main

type labCommand struct {
	List       labListCommand       `cmd:"" help:"List the experiments, with their requirements and durations."`
	Show       labShowCommand       `cmd:"" help:"Show the lesson of an experiment: question, claim, variants, explanation, fix, limits, and what the articles say."`
	Run        labRunCommand        `cmd:"" help:"Run experiments, judge the results, and save the recordings."`
	Try        labTryCommand        `cmd:"" help:"Test your own lock: any program, in any language, that speaks the protocol in docs/protocol.md."`
	Serve      labServeCommand      `cmd:"" help:"Serve the live page: a story in seven scenes, bursts, locks step by step, servers to break, and every experiment."`
	Check      labCheckCommand      `cmd:"" help:"Judge saved runs again, or the result files of load tools: JMeter's CSV (.jtl) or k6's summary."`
	Matrix     labMatrixCommand     `cmd:"" help:"Show which anomaly violated which lock in the saved runs."`
	Compare    labCompareCommand    `cmd:"" help:"Compare the locks on all backends, from the saved runs and the results of make bench."`
	Pages      labPagesCommand      `cmd:"" help:"Generate docs/experiments, docs/errata.md and the matrix from the code, the lessons and the results in docs/experiments/results."`
	Explore    labExploreCommand    `cmd:"" help:"Try every interleaving of an experiment's locks and show the shortest one that violates each."`
	Step       labStepCommand       `cmd:"" help:"Play a lock by hand: choose which client runs its next command, which one dies, and when time passes."`
	Topologies labTopologiesCommand `cmd:"" help:"Load the containers over each topology with app, k6 and JMeter, kill the master once, and write docs/topologies.md. It takes over running containers and removes them at the end."`
}
