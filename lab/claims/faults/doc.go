// Package faults has the experiments in which servers of a lock fail, are cut off, or are replaced.
package faults

import (
	"embed"

	"locklab/lab"
)

//go:embed *.md
var lessons embed.FS

// Experiments are those of this folder: each adds itself.
var Experiments = lab.NewGroup(lessons)
