// Package agent runs clients in processes of their own, so that they can be killed and paused. A supervisor ends each with the lab.
//
//   - A [Program] has a lock and speaks package protocol: any program, or this very binary with a [Lock] of the lab.
//   - A [Process] is this binary with a task of the shop or the cache, which stops between two of its steps.
//
// The resource lives in the lab, so that no fault of a process affects it.
//
// What is NOT guaranteed: what a program says of a lock is recorded when it arrives. A program that is paused says it later.
package agent
