// Package faults has the experiments in which servers of a lock fail, are cut off, or are replaced (F01 to F13).
package faults
