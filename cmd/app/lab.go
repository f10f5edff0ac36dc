package main

// labCommand holds what is done with experiments.
type labCommand struct {
	Check      labCheckCommand      `cmd:"" help:"Judge what a load tool left: JMeter's .jtl, CSV or XML, or k6's summary."`
	Topologies labTopologiesCommand `cmd:"" help:"Fire with our load, k6 and JMeter at the containers over each topology, kill the master once, and write the page that compares. A lab that is up is taken over, and taken down at the end."`
}
