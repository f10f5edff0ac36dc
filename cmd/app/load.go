package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"locklab/experiments/check"
	"locklab/experiments/loadtool"
	"locklab/report/terminal"
)

// loadCommand runs a load tool and judges the file that it writes.
type loadCommand struct {
	checkout
	JSON  bool     `name:"json" help:"Print the results as JSON."`
	Words []string `arg:"" name:"what" passthrough:"" help:"Burst to send: pview or order. Flags after it go to the load tool."`
}

type (
	k6Command struct {
		loadCommand
		Out string `default:"store/k6.json" env:"-" placeholder:"FILE" help:"File to write the summary to. An existing summary is replaced."`
	}
	jmeterCommand struct {
		loadCommand
		Out string `default:"store/jmeter.jtl" env:"-" placeholder:"FILE" help:"File to write the samples to. An existing result is replaced."`
	}
)

func (c *k6Command) Run(ctx context.Context, std streams) error {
	return c.sendBurst(ctx, std, loadtool.K6, c.Out)
}

func (c *jmeterCommand) Run(ctx context.Context, std streams) error {
	return c.sendBurst(ctx, std, loadtool.JMeter, c.Out)
}

// parseBurst returns the burst that the arguments ask for. It rejects our own flags after the burst, where they would go to the tool.
func (c *loadCommand) parseBurst(tool loadtool.Tool, file string) (b loadtool.Burst, err error) {
	words := c.Words
	if words[0] == "--" && len(words) > 1 {
		words = words[1:]
	}
	b = loadtool.Burst{Checkout: c.Dir, Kind: loadtool.Kind(words[0]), Arguments: words[1:], File: file}
	if b.Kind != loadtool.Pageview && b.Kind != loadtool.Order {
		return b, usageErrorf("cannot judge %q; use pview or order, followed by flags of %s. "+
			"The other scripts and plans in loadtest judge themselves", words[0], tool.Name)
	}
	for _, word := range b.Arguments {
		if name, _, _ := strings.Cut(word, "="); slices.Contains([]string{"--json", "--out", "--dir", "--help"}, name) {
			return b, usageErrorf("%s comes after %s, where flags go to %s; put it before %[2]s", name, b.Kind, tool.Name)
		}
	}
	return b, nil
}

// sendBurst runs the tool and prints our verdict. The tool's own output goes to standard error.
func (c *loadCommand) sendBurst(ctx context.Context, std streams, tool loadtool.Tool, file string) error {
	b, err := c.parseBurst(tool, file)
	if err != nil {
		return err
	}
	lab, err := composeTarget(ctx, c.Dir)
	if err != nil {
		return usageErrorf("%w", err)
	}
	// Our k6 scripts read BASE_URL, too.
	if b.URL, err = baseURL("BASE_URL or the address of nginx", cmp.Or(os.Getenv("BASE_URL"), lab.URL)); err != nil {
		return err
	}
	b.AdminToken = lab.AdminToken
	record, err := tool.Run(ctx, b, std.err)
	if errors.Is(err, loadtool.ErrFile) {
		return usageErrorf("--out is %s: %w; use another file", file, err)
	}
	if err := commandError(ctx, err, "nothing was judged"); err != nil {
		return err
	}
	result := &check.Result{}
	result.AddBurst(file, record)
	if err := printResult(std, c.JSON, result, terminal.Checked); err != nil {
		return err
	}
	return verdictError(result.Verdict, "")
}
