// Package services has the services that several claims share: what works under a lock, or without one.
//
//	service.go       instances of the app behind a balancer: page views, orders; what the claims about one lock share
//	viewprocess.go   the page views of v3 in a process of its own: without its token, or behind another balancer
//	chaos.go         two instances under load, while their lock is taken from its holders
//	supplier.go      nodes that call one supplier under a limit
//	shop.go          two instances of the shop over one database, interleaved by their statements
//	cache.go         a Redis before a database, its readers and writers, and what they may not do
//	cacheprocess.go  a client of the cache in a process of its own, to be killed between two steps
package services
