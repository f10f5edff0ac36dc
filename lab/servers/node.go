package servers

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Node is one Redis server.
type Node struct {
	Restartable
	Proxy *Proxy // before it, for clients and other servers; nil: none

	bus      *Proxy // before its port for the other nodes of a cluster; nil: none
	inside   string // host:port, as other containers reach it; empty: it runs in no container
	password string
}

// Server is what runs a node: a [Process], or a container.
type Server interface {
	String() string                   // its name
	Kill()                            // ends it without warning, as a crash does, and returns when it has ended
	Ended() (proof string, err error) // waits for its end, and returns what proves it
	Pause() error                     // stops it from running until Resume, and returns when it has stopped
	Resume()
	Done() <-chan struct{} // closed when it has ended; a container: when Kill was called

	lastOutput() string
}

// AnnouncedAddr is the address that clients and other servers are told: that of the proxy, if there is one.
func (n *Node) AnnouncedAddr() string {
	if n.Proxy != nil {
		return n.Proxy.Addr
	}
	return cmp.Or(n.inside, n.Addr)
}

// WithClient calls use with a client of the node itself, which does not pass the proxy.
func (n *Node) WithClient(use func(*redis.Client) error) error {
	client := newClient(n.Addr, n.password)
	defer client.Close()
	return use(client)
}

// newClient is for the stack's own requests to its nodes.
func newClient(addr, password string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Password: password, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
}

// Info returns one field of what INFO answers.
func (n *Node) Info(ctx context.Context, section, name string) (value string, err error) {
	err = n.WithClient(func(c *redis.Client) error {
		text, err := c.Info(ctx, section).Result()
		if err == nil {
			value, err = infoField(text, name)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("stack: %s: %w", n.Name, err)
	}
	return value, nil
}

// infoField finds the value of a field in what INFO answers.
func infoField(text, name string) (string, error) {
	_, after, found := strings.Cut(text, "\n"+name+":")
	if !found {
		return "", fmt.Errorf("INFO has no field %s", name)
	}
	value, _, _ := strings.Cut(after, "\r\n")
	return value, nil
}

// Number is Info for a field that is a number.
func (n *Node) Number(ctx context.Context, section, field string) (number int64, err error) {
	text, err := n.Info(ctx, section, field)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// Configure sets one of the node's parameters while it runs.
func (n *Node) Configure(ctx context.Context, name string, value any) error {
	return n.WithClient(func(c *redis.Client) error { return c.ConfigSet(ctx, name, fmt.Sprint(value)).Err() })
}
