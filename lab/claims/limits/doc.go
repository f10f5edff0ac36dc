// Package limits has the experiments on rate limits (R0 to R10).
package limits

import "embed"

// Lessons are the files with the experiments' lessons.
//
//go:embed *.md
var Lessons embed.FS
