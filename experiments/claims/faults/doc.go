// Package faults has the experiments in which servers of a lock fail, or are cut off (F01 to F12).
package faults
