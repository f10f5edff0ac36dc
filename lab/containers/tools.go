package containers

import (
	"time"

	"locklab/lab/burst"
	"locklab/lab/burst/loadtool"
)

// Tool sends the bursts.
type Tool struct {
	burst.Sender
	Takes time.Duration // about, for a burst
}

// App is the load of the demo.
func App() Tool { return Tool{burst.App{}, time.Second} }

// K6 runs the scripts of loadtest/k6 in a checkout.
func K6(checkout string) Tool { return Tool{loadtool.K6(checkout), 3 * time.Second} }

// JMeter runs the plans of loadtest/jmeter in a checkout.
func JMeter(checkout string) Tool { return Tool{loadtool.JMeter(checkout), 8 * time.Second} }
