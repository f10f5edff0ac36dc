// Package faults has the experiments in which servers of a lock fail, are cut off, or are replaced (F01 to F13).
package faults

import "embed"

// Lessons are the files with the experiments' lessons.
//
//go:embed *.md
var Lessons embed.FS
