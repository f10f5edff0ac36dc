// Package anatomy has the experiments that take a lock apart: expiry, owner, renewal, waiting, tokens.
package anatomy

import (
	"embed"

	"locklab/lab"
)

//go:embed *.md
var lessons embed.FS

// Experiments are those of this folder: each adds itself.
var Experiments = lab.NewGroup(lessons)
