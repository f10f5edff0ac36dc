package containers

import (
	"context"
	"maps"
	"slices"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/servers/compose"
)

// outageVersion is what the users ask for while the master dies. The lock and what it protects are lost together.
const outageVersion = "v3"

// Outage is what users got while the master was dead, and which server it was.
type Outage struct {
	burst.Outage
	Killed   string // the service
	Replaced bool   // sentinels or the cluster replace the master
}

// Verdict is inconclusive when no request failed, which proves no death. It is unexpected when a topology that replaces its
// master did not answer again in time. A write that was lost meanwhile is no violation: no topology promises to keep it.
func (o Outage) Verdict() lab.Verdict {
	switch {
	case len(o.Failed) == 0:
		return lab.Inconclusive
	case o.Replaced && o.BackAfter == 0:
		return lab.Unexpected
	}
	return lab.AsExpected
}

func outage(ctx context.Context, docker compose.Docker, target burst.Target, users int) (Outage, error) {
	o := Outage{Replaced: Promotes(docker.Topology)}
	var err error
	if o.Killed, err = master(ctx, docker); err != nil {
		return o, err
	}
	within := BackWithin
	if !o.Replaced {
		within = BackWithin / 6 // no server replaces it
	}
	container, err := docker.Container(ctx, o.Killed)
	if err != nil {
		return o, err
	}
	o.Outage, err = burst.RunOutage(ctx, target, outageVersion, users, container.Kill, within)
	return o, err
}

// master is the service whose Redis is a master and has the counter.
func master(ctx context.Context, docker compose.Docker) (string, error) {
	services := slices.DeleteFunc(slices.Collect(maps.Keys(docker.Files.Services["redis-ready"].DependsOn)), func(service string) bool {
		return !docker.Files.Services[service].Starts() // it is of another topology
	})
	return Master(services, func(service string) (string, error) {
		container, err := docker.Container(ctx, service)
		if err != nil {
			return "", err
		}
		return container.Run(ctx, "sh", "-c", Role)
	})
}
