// Package failovers has servers that several claims share, and of which one is replaced: its clients ask for a lock before and after.
//
//	quorum.go     RedLock over independent nodes: the deciding node, nodes out of reach, availability
//	failover.go   a master with replicas that is replaced, by hand or by an election
//	elected.go    Sentinel, and a cluster, that replace their master
//	leader.go     a leader that is killed: a client that waits, and how long nobody is granted
//	etcd.go       servers of etcd, and clients of the lock on them
//	zookeeper.go  an ensemble of ZooKeeper, and clients of the lock on it
package failovers
