package main

// The go command compiles packages in the order of imports. SQLite is the largest one. Without this line
// it would come after go-redis and etcd, and one core would wait at the end of a first build (docs/decisions/0025).
import _ "github.com/glebarez/sqlite"
