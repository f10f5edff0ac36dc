// Package caches has the experiments on a cache beside a database.
package caches

import (
	"embed"

	"locklab/lab"
)

//go:embed *.md
var lessons embed.FS

// Experiments are those of this folder: each adds itself.
var Experiments = lab.NewGroup(lessons)
