// Package servers starts servers for the lab, as processes on this machine's loopback interface. It starts Redis in every topology, a
// database, ZooKeeper, etcd, Memcached, app instances and a balancer. It also makes them fail: they are killed, paused, restarted, filled
// up, or cut off by a fault proxy.
//
// A process does not outlive its stack. [Stack.Close] ends every server. When the program that started them ends without it, for any
// reason, the kernel kills the servers on Linux, and the reaper does the rest on every system: a process of this same binary that holds one
// end of a pipe, whose other end closes with the program. It kills what is left and removes the stacks' directories. A program that
// uses this package calls [Reexec] first in main or TestMain, because the reaper begins there.
//
// What is NOT guaranteed: a free port. Another program may take it before the server opens it; then the stack tries another one.
// When the reaper is killed together with the program, the directories stay, and the servers as well except on Linux. Windows is not
// supported: [New] fails there.
package servers
