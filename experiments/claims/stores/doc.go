// Package stores has the experiments on locks in a database and in Memcached (D01, D02, D03, M01).
package stores
