// Package stack starts something to run against: Redis servers in every topology, a database, app
// instances and a balancer, as processes on this machine's loopback.
//
// What it started does not outlive it. Every server runs under a guard, a small process of this
// very binary that holds one end of a pipe; when the other end closes, because [Stack.Close] was
// called or because the starting process died of whatever, the guard kills its server and removes
// the stack's directory. A program that uses this package calls [Reexec] first in main or TestMain,
// for that is where a guard begins its life.
//
// What is NOT guaranteed: a port that was free when it was chosen may be taken when the server
// opens it (then another is tried); a guard that is killed leaves its server, except on Linux, where
// the kernel kills it, and the directory, if all of them are. Windows is not supported.
package stack
