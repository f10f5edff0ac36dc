// Package stores has the experiments on locks in a database and in Memcached (D01 to D03, M01 to M03).
package stores

import "embed"

// Lessons are the files with the experiments' lessons.
//
//go:embed *.md
var Lessons embed.FS
