// Package shops has the experiments on the shop: stock, orders, messages and states (S1 to S4).
package shops

import "embed"

// Lessons are the files with the experiments' lessons.
//
//go:embed *.md
var Lessons embed.FS
