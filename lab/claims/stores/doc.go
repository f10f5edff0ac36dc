// Package stores has the experiments on locks in a database and in Memcached.
package stores

import (
	"embed"

	"locklab/lab"
)

//go:embed *.md
var lessons embed.FS

// Experiments are those of this folder: each adds itself.
var Experiments = lab.NewGroup(lessons)
