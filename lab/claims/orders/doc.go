// Package orders has the experiments on an order that drivers grab (G1 to G9, G11 and G12).
package orders

import "embed"

// Lessons are the files with the experiments' lessons.
//
//go:embed *.md
var Lessons embed.FS
