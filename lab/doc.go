// Package lab runs the lab's claims and judges what was recorded.
//
// A run only acts and records. Violations are computed from the record, and the verdict from the violations: both are pure
// functions. The zero verdict is inconclusive, so that what is forgotten cannot pass.
//
// What is NOT guaranteed: "as expected" means that the trials that ran showed what was expected, and nothing more.
package lab
