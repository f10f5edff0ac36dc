// Package orders has the experiments on an order that drivers grab.
package orders

import (
	"embed"

	"locklab/lab"
)

//go:embed *.md
var lessons embed.FS

// Experiments are those of this folder: each adds itself.
var Experiments = lab.NewGroup(lessons)
