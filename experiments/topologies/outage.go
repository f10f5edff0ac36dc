package topologies

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/stack/compose"
	"locklab/topology"
)

// outageVersion is what the users ask for while the master dies: the lock and what it protects die together.
const outageVersion = "v3"

// Outage is what users got while the master died, and which service it was.
type Outage struct {
	burst.Outage
	Killed   string // the service
	Replaced bool   // another server takes the master's place
}

// Verdict is inconclusive when no request failed, which proves no death. It is unexpected when a topology that replaces its
// master did not answer again in time. What was lost meanwhile is no violation: no topology promises to keep it.
func (o Outage) Verdict() experiments.Verdict {
	switch {
	case len(o.Failed) == 0:
		return experiments.Inconclusive
	case o.Replaced && o.BackAfter == 0:
		return experiments.Unexpected
	}
	return experiments.AsExpected
}

func outage(ctx context.Context, docker compose.Docker, target burst.Target, users int) (Outage, error) {
	o := Outage{Replaced: docker.Topology == string(topology.Sentinel) || docker.Topology == string(topology.Cluster)}
	var err error
	if o.Killed, err = master(ctx, docker); err != nil {
		return o, err
	}
	within := backWithin
	if !o.Replaced {
		within = backWithin / 6 // nobody will come
	}
	container, err := docker.Container(ctx, o.Killed)
	if err != nil {
		return o, err
	}
	o.Outage, err = burst.RunOutage(ctx, target, outageVersion, users, container.Kill, within)
	return o, err
}

// master is the service that holds the counter. It is asked from this machine, as a client on the
// host of the containers is: through the address map.
func master(ctx context.Context, docker compose.Docker) (string, error) {
	cfg, err := fromHost(docker.Project)
	if err != nil {
		return "", err
	}
	r, err := topology.Open(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	var node redis.Cmdable = r.Master
	if cluster, ok := r.Master.(*redis.ClusterClient); ok {
		if node, err = cluster.MasterForKey(ctx, "pview"); err != nil {
			return "", err
		}
	}
	info, err := node.InfoMap(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	port, err := strconv.Atoi(info["Server"]["tcp_port"])
	if err != nil {
		return "", fmt.Errorf("the master does not say its port: %w", err)
	}
	for _, published := range docker.Ports() {
		if published.Number == port {
			return published.Service, nil
		}
	}
	return "", fmt.Errorf("no service has the master's port %d", port)
}

// fromHost is the topology that the instances are told, as it is reached from outside of their network.
func fromHost(project *compose.Project) (topology.Config, error) {
	app := project.Files.Services["app-1"].Environment
	set := func(name string) string {
		if value := app[name]; value != nil {
			return *value
		}
		return ""
	}
	reached := project.HostAddrMap()
	if reached == "" || set("LAB_REDIS") == "" {
		return topology.Config{}, errors.New("docker-compose.yml has no network lab with a subnet, or app-1 no LAB_REDIS")
	}
	addrMap, err := topology.ParseAddrMap([]string{reached})
	return topology.Config{
		Kind: topology.Kind(set("LAB_TOPOLOGY")), Addrs: strings.Split(set("LAB_REDIS"), ","), SentinelMaster: "lab",
		Access: topology.Access{Password: set("LAB_REDIS_PASSWORD"), Map: addrMap},
	}, err
}
