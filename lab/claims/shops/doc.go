// Package shops has the experiments on the shop: stock, orders, messages and states.
package shops

import (
	"embed"

	"locklab/lab"
)

//go:embed *.md
var lessons embed.FS

// Experiments are those of this folder: each adds itself.
var Experiments = lab.NewGroup(lessons)
