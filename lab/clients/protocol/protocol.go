// Package protocol is how the lab and a program with a lock talk: one JSON object a line, over the program's stdin and stdout.
// docs/protocol.md describes it, and schema.json is its JSON Schema. It imports the standard library only, so that a program in Go may use
// it: see [Serve].
//
// What is NOT guaranteed: the protocol says nothing about what a program logs. Logs belong on stderr.
package protocol

import (
	_ "embed"
	"time"
)

// Version is the version of the protocol that this program speaks.
const Version = 1

// Schema is the JSON Schema of both kinds of lines.
//
//go:embed schema.json
var Schema string

// Type is the type of a line.
type Type string

// The requests of the lab.
const (
	Start   Type = "start"   // connect to the servers; the program answers Ready
	Acquire Type = "acquire" // wait for the key at most wait_ms; 0: try once. The program answers Granted or Refused
	Release Type = "release" // the grant of that id; the program answers Released or NotHeld
	Extend  Type = "extend"  // the grant of that id by a lease; the program answers Granted or NotHeld
	Stop    Type = "stop"    // end
)

// The answers of the program. Error answers any request that failed.
const (
	Hello    Type = "hello" // the first line, before it is asked
	Ready    Type = "ready"
	Granted  Type = "granted"
	Refused  Type = "refused"
	Released Type = "released"
	NotHeld  Type = "not_held"
	Error    Type = "error"
	Lost     Type = "lost" // unasked: the grant of that id is over, and the program did not release it
)

// Request is a line to the program.
type Request struct {
	Type    Type     `json:"type"`
	ID      string   `json:"id,omitempty"` // of one grant: its release and extension name it, too
	Key     string   `json:"key,omitempty"`
	WaitMS  int64    `json:"wait_ms,omitempty"`
	LeaseMS int64    `json:"lease_ms,omitempty"`
	Servers []string `json:"servers,omitempty"` // host:port of each; they are the lab's fault proxies, unless the servers announce addresses
}

// Wait is the longest time that the program may wait for the key.
func (r Request) Wait() time.Duration { return time.Duration(r.WaitMS) * time.Millisecond }

// Lease is how long the key is locked after its holder's death, or after the last renewal.
func (r Request) Lease() time.Duration { return time.Duration(r.LeaseMS) * time.Millisecond }

// Answer is a line of the program.
type Answer struct {
	Type    Type   `json:"type"`
	ID      string `json:"id,omitempty"`
	Token   uint64 `json:"token,omitempty,string"` // fencing token; a string, because JavaScript rounds large numbers
	UntilMS int64  `json:"until_ms,omitempty"`     // how long the grant is good, from this answer, as far as the program knows
	Key     string `json:"key,omitempty"`          // of Ready: by it the lab recognises the key in the packets to the servers
	Reason  string `json:"reason,omitempty"`       // of Refused and Lost
	Text    string `json:"text,omitempty"`         // of Error
	*Claims        // of Hello
}

// Claims are what a program says of its lock. A row whose claim is missing is not tried.
type Claims struct {
	Protocol int    `json:"protocol"`
	Name     string `json:"name"`
	PID      int    `json:"pid"`                         // of the process itself: the lab kills and pauses it
	Store    string `json:"store"`                       // a kind of server that the lab starts: Redis, …
	LeaseMS  int64  `json:"fixed_lease_ms,omitempty"`    // where it does not follow the lab's lease_ms
	Renews   bool   `json:"renews,omitempty"`            // it renews a grant until the release
	Tokens   bool   `json:"tokens,omitempty"`            // each grant has a larger fencing token
	Tells    bool   `json:"tells_loss,omitempty"`        // it sends Lost
	Extends  bool   `json:"extends,omitempty"`           // it serves Extend
	Messages bool   `json:"waits_by_message,omitempty"`  // a waiter is notified, and does not poll
	Silent   bool   `json:"silent_release,omitempty"`    // its release does not tell whether the lock was held
	Replica  bool   `json:"waits_for_replica,omitempty"` // a grant is confirmed by at least one replica

	Key string `json:"-"` // Serve sends it with Ready: see Answer.Key. Empty: the program sends the key itself
}

// Kinds of servers that the lab starts for a program. It refuses one that it does not know, and names those that it knows.
const (
	Redis     = "redis"     // one server
	RedLock   = "redlock"   // five independent servers of Redis
	Database  = "database"  // MariaDB; the address is mysql: and a data source name of go-sql-driver
	ZooKeeper = "zookeeper" // one server
	Etcd      = "etcd"      // one server
	Memcached = "memcached" // one server
	Sentinel  = "sentinel"  // Redis with failover; the addresses are those of the sentinels, and the master is called lab
	Cluster   = "cluster"   // Redis Cluster; the addresses are those of its nodes
)
