package clients_test

import (
	"context"
	"fmt"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
)

// A scenario on one Redis: A reads the counter under the lock, the lock's key is deleted, B works, and A writes.
func ExampleOnRedis() {
	scenario := func(deleted bool) lab.Scenario {
		return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
			counter := clients.NewResource(x.Trial, false) // it checks no fencing token
			a := x.NewClient("A", clients.LongLease).Acquire(ctx)
			value := counter.Read(a)
			if deleted {
				n, err := x.Conn.Del(ctx, clients.LockKey).Result()
				x.Must(err) // without this step, the trial shows nothing
				x.Fault("admin", "deletes the lock's key", fmt.Sprintf("the server has deleted %d key", n))
				b := x.NewClient("B", clients.LongLease).Acquire(ctx)
				counter.Add(b)
				b.Release(ctx)
			}
			// A step that this package does not know. Each kind of event is in package history; for a remark, x.Note is shorter.
			x.Record(history.Event{Timeline: "A", Kind: history.Note, Text: "is slow, and looks at nothing before it writes"})
			counter.Write(a, value+1)
			_ = a.TryRelease(ctx) // Release would end the trial: A no longer holds the lock
		})
	}
	result := lab.Run(context.Background(), lab.Experiment{
		ID: "L00-example", Check: history.Counter,
		Variants: []lab.Variant{
			{Name: "not deleted", Run: scenario(false)}, // the control
			{Name: "deleted", Expect: lab.Sometimes, Fault: true, Run: scenario(true)},
		},
	}, lab.Options{Trials: 1})
	for _, v := range result.Judgement.Variants {
		fmt.Printf("%s: %s\n", v.Name, v.Seen())
	}
	fmt.Println(result.Judgement.Verdict)
	// Output:
	// not deleted: no violation in 1 trial
	// deleted: violation in 1 of 1 trial
	// as expected
}
