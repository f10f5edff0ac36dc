// Package caches has the experiments on a cache beside a database (C1 to C6).
package caches

import "embed"

// Lessons are the files with the experiments' lessons.
//
//go:embed *.md
var Lessons embed.FS
