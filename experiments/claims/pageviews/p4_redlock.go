package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P4 = services.LockedViews(experiments.Experiment{
	ID:       "P4-redlock",
	Title:    "RedLock",
	Articles: experiments.Articles{"A4"},
	Claim:    "With RedLock over five nodes no update is lost, as long as no server fails.",
	Says: `
		With RedLock the same 666 simultaneous requests on two instances end "perfectly". A4's text has no number; pictures are missing in our
		copy.`,
	Lesson: experiments.Lesson{
		Question: `
			RedLock asks five independent Redis nodes for the lock, and has it when at least three of them have granted it. 666 requests arrive
			at two instances simultaneously. Is an update lost?`,
		Predict: `
			(a) No update is lost. (b) Some are lost, because two clients get different nodes. (c) When many clients ask, none ever gets three of
			five nodes.`,
		Why: `
			(a). No update is lost. Two majorities of five nodes have at least one node in common, and a node grants the key to one client at a time.
			Clients may share the nodes between them, so that none has three. Then each releases what it has and tries again, after a random
			pause or a message. Few clients compete, because each instance queues its own requests.`,
		Fix: `
			Use RedLock when one Redis is not available enough, and a replica is not safe enough. The nodes must be independent: separate
			machines, no replication between them. With five nodes, two may fail.`,
		Limits: `
			No node fails here: F05 stops some, F06 restarts one empty, F07 changes a clock. The nodes run on one machine, so the times say
			little about a network. The counter is on one other Redis, as in A4. RedLock issues no fencing token, so a late write is not refused
			(L11).`,
		Next: "F05-redlock-minority and F06-redlock-amnesia break the nodes. G4-redlock shows the same lock with an order. By hand: " +
			"`app demo --versions v3,v4`.",
		Level: experiments.Medium,
	},
	Drawing: `
instance-1   [ lock on 3 of 5 nodes  GET → 0  SET 1  unlock on all ]
instance-2                                    waits                [ lock … GET → 1  SET 2 … ]`,
	How: `
		666 simultaneous requests go to two instances in equal parts, with RedLock over five independent nodes. The variant without a lock
		proves that the load would lose updates. The control counts with INCR.`,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
}, experiments.Variant{Name: "five nodes", Strategy: "v4", Run: services.PageViews(services.Service{Version: "v4"})})
