// Package anatomy has the experiments that take a lock apart: expiry, owner, renewal, waiting, tokens (L01 to L25).
package anatomy

import "embed"

// Lessons are the files with the experiments' lessons.
//
//go:embed *.md
var Lessons embed.FS
