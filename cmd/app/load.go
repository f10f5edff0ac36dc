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

// loadCommand runs a load tool, and judges the file of this run.
type loadCommand struct {
	checkout
	JSON  bool     `name:"json" help:"Print the results as JSON, for programs."`
	Words []string `arg:"" name:"what" passthrough:"" help:"Burst to send: pview or order. Flags after it are those of the load tool."`
}

type (
	k6Command struct {
		loadCommand
		Out string `default:"store/k6.json" env:"-" placeholder:"FILE" help:"File for the summary; an earlier one is removed before."`
	}
	jmeterCommand struct {
		loadCommand
		Out string `default:"store/jmeter.jtl" env:"-" placeholder:"FILE" help:"File for the samples; an earlier one is removed before."`
	}
)

func (c *k6Command) Run(ctx context.Context, std streams) error {
	return c.load(ctx, std, loadtool.K6, c.Out)
}

func (c *jmeterCommand) Run(ctx context.Context, std streams) error {
	return c.load(ctx, std, loadtool.JMeter, c.Out)
}

// burst is what the words ask for. A flag of ours behind the burst would be one of the tool.
func (c *loadCommand) burst(tool loadtool.Tool, file string) (b loadtool.Burst, err error) {
	words := c.Words
	if words[0] == "--" && len(words) > 1 {
		words = words[1:]
	}
	b = loadtool.Burst{Checkout: c.Dir, Kind: loadtool.Kind(words[0]), Arguments: words[1:], File: file}
	if b.Kind != loadtool.Pageview && b.Kind != loadtool.Order {
		return b, misuse("%q is not judged here; allowed are pview and order, and after it come flags of %s. "+
			"The other scripts and plans of loadtest judge themselves", words[0], tool.Name)
	}
	for _, word := range b.Arguments {
		if name, _, _ := strings.Cut(word, "="); slices.Contains([]string{"--json", "--out", "--dir", "--help"}, name) {
			return b, misuse("%s stands behind %s, where flags of %s are; put it before", name, b.Kind, tool.Name)
		}
	}
	return b, nil
}

// load sends the burst. The tool's own output goes to the standard error, because the result is our verdict.
func (c *loadCommand) load(ctx context.Context, std streams, tool loadtool.Tool, file string) error {
	b, err := c.burst(tool, file)
	if err != nil {
		return err
	}
	near, err := nearby(ctx, c.Dir)
	if err != nil {
		return misuse("%w", err)
	}
	// The variable is that of our scripts.
	if b.URL, err = baseURL("BASE_URL, or the address of nginx,", cmp.Or(os.Getenv("BASE_URL"), near.URL)); err != nil {
		return err
	}
	b.AdminToken = near.AdminToken
	record, err := tool.Run(ctx, b, std.err)
	if errors.Is(err, loadtool.ErrFile) {
		return misuse("--out is %s: %w; name another", file, err)
	}
	if err := stopped(ctx, err, "nothing is judged"); err != nil {
		return err
	}
	result := &check.Result{}
	result.AddBurst(file, record)
	if err := printed(std, c.JSON, result, terminal.Checked); err != nil {
		return err
	}
	return verdictExit(result.Verdict, "")
}
