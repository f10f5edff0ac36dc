// Package pageviews has the experiments on the counter of page views (P0 to P9).
package pageviews

import "embed"

// Lessons are the files with the experiments' lessons.
//
//go:embed *.md
var Lessons embed.FS
