// Package caches has the experiments on a cache beside a database (C1 to C6).
package caches
