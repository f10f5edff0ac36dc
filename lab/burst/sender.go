package burst

import (
	"context"
	"net/http"
	"time"
)

// Sender sends the bursts of a plan, one after another: [App], or a load tool of package loadtool. An error means that there is no record.
type Sender interface {
	Name() string
	Close() error // ends what it has started
	// Views is [RunViews] for simultaneous requests. A sender that sees each answer as it arrives tells of it; tell may be nil.
	Views(ctx context.Context, target Target, version string, users int, tell func(Event)) (Views, error)
	// Grabs is [RunGrabs] for simultaneous requests. Drivers wait for the lock as long as the instances allow.
	Grabs(ctx context.Context, target Target, version string, drivers int) (Grabs, error)
}

// App is the load of this program. Every connection is open before the first request is sent.
type App struct{}

// Name is that of the program.
func (App) Name() string { return "app" }

// Close does nothing.
func (App) Close() error { return nil }

// Views tells of each answer.
func (App) Views(ctx context.Context, target Target, version string, users int, tell func(Event)) (Views, error) {
	return RunViews(ctx, target, version, users, telling(version, tell))
}

// Grabs tells of no answer.
func (App) Grabs(ctx context.Context, target Target, version string, drivers int) (Grabs, error) {
	return RunGrabs(ctx, target, version, drivers, "", Simultaneous)
}

// telling sends the page views of a version, and tells of each answer.
func telling(version string, tell func(Event)) Send {
	told := teller{version: version, tell: tell}
	return func(ctx context.Context, base string, requests []*http.Request) ([]answer, time.Time, error) {
		return simultaneous(ctx, base, requests, func(a answer) { told.add(a, 0) })
	}
}
