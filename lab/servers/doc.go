// Package servers starts servers for the lab, as processes on this machine's loopback interface. It starts Redis in every topology, a
// database, ZooKeeper, etcd, Memcached, app instances and a balancer. It also makes them fail: they are killed, paused, restarted, filled
// up, or cut off by a fault proxy.
//
// A process does not outlive its stack. Every server runs under a supervisor: a small process of this same binary that holds one end
// of a pipe. The other end closes when [Stack.Close] is called, and also when the program that started the stack ends for any
// reason. Then the supervisor kills its server and removes the stack's directory. A program that uses this package calls [Reexec]
// first in main or TestMain, because a supervisor begins there.
//
// What is NOT guaranteed: a free port. Another program may take it before the server opens it; then the stack tries another one.
// A supervisor that is killed leaves its server running, except on Linux, where the kernel kills the server. When all
// supervisors are killed, the directory stays. Windows is not supported: [New] fails there.
package servers
