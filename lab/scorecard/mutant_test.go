package scorecard_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/clients"
	"locklab/lab/clients/protocol"
)

// The programs of this file poll, as a wrapper of a company does. A sleep here is a pause of a program, and no wait of a test.

// serveMutant serves a lock with one defect, in about the lines that a company's wrapper has.
func serveMutant(name string) {
	mutant, unrenewed := strings.CutPrefix(name, "unrenewed ")
	claims := protocol.Claims{
		Name: "mutant " + name, Store: protocol.Redis, Renews: !unrenewed, Tokens: true, Tells: true, Extends: true,
		Messages: mutant == "polls" || mutant == "misses messages" || mutant == "stale waiter",
	}
	if mutant == "hashes" {
		claims.Key = hashed(clients.LockKey)
	}
	var out io.Writer = os.Stdout
	if mutant == "long extension" {
		out = longExtension{out}
	}
	err := protocol.Serve(os.Stdin, out, claims, func(start protocol.Request) (protocol.Lock, error) {
		timeout := start.Lease() / 4 // T09 may forget two connections of the pool: the third must renew before the lease is over
		if strings.HasPrefix(mutant, "patient client") || mutant == "fence, patient" {
			timeout = time.Hour
		}
		m := &mutantLock{mutant: mutant, next: make(chan struct{}), parts: soundParts(), Client: redis.NewClient(&redis.Options{
			Addr: start.Servers[0], MaxRetries: -1, DisableIdentity: true, ReadTimeout: timeout, DialTimeout: timeout, PoolSize: 20,
		})}
		if unrenewed {
			m.renewal = runs(lookScript)
		}
		if replace := defects[mutant]; replace != nil {
			replace(m)
		}
		return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
			r.Key = m.keyOf(r.Key)
			return m.acquire(ctx, r)
		}, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// longExtension says of each extension that it is good for a minute. The answer to an acquire says it already.
type longExtension struct{ io.Writer }

func (w longExtension) Write(line []byte) (int, error) {
	long := line
	if bytes.Contains(line, []byte(`"granted"`)) && !bytes.Contains(line, []byte(`"until_ms"`)) {
		long = bytes.Replace(line, []byte("}"), []byte(`,"until_ms":60000}`), 1)
	}
	_, err := w.Writer.Write(long)
	return len(line), err
}

func hashed(key string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(key))) }

type mutantLock struct {
	*redis.Client
	mutant string
	parts
	grants  atomic.Int64
	waiting atomic.Int64
	owners  sync.Map // by key
	handed  sync.Map // keys that a release has left to a waiter
	next    chan struct{}
	block   atomic.Int64
	stale   atomic.Int64 // waiters that have gone, and that a message still wakes
}

var (
	grantScript = redis.NewScript(`if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local now = redis.call('TIME') return now[1] * 1000000 + now[2]`)
	renewScript = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
	lookScript  = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0`)
	againScript = redis.NewScript(`local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`)
	queueScript = redis.NewScript(`if not redis.call('LPOS', KEYS[1], ARGV[1]) then redis.call('RPUSH', KEYS[1], ARGV[1]) end
return redis.call('LINDEX', KEYS[1], 0)`)
	freeScript = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
)

func (m *mutantLock) acquire(ctx context.Context, r protocol.Request) (protocol.Held, error) {
	m.waiting.Add(1)
	defer m.waiting.Add(-1)
	owner := fmt.Sprintf("%d-%s-%d", os.Getpid(), r.ID, m.grants.Add(1))
	if m.mutant == "selfish" && !strings.HasPrefix(r.ID, "a") && r.Wait() >= longWait {
		time.Sleep(r.Wait() / 2) // until the competition is over
	}
	if m.mutant == "waits on" { // it looks whether the wait is over, but seldom
		r.WaitMS += 2000
	}
	asked := time.Now()
	var heard *redis.PubSub // it ends with the process
	for {                   // it polls, as a wrapper of a company does
		tried := time.Now()
		token, err := m.try(r, owner)
		switch {
		case err != nil && m.mutant == "fails open":
			return m.hold(r, owner, 1, tried), nil
		case err != nil:
			return protocol.Held{}, err
		case m.mutant == "one owner" && m.Exists(ctx, r.Key).Val() == 1 && m.holdsIn(r.Key):
			return m.hold(r, owner, 1, tried), nil
		case m.mutant == "crowd" && m.waiting.Load() > 50:
			return m.hold(r, owner, 1, tried), nil
		case token > 0:
			m.answerLate()
			return m.hold(r, owner, token, tried), nil
		case m.mutant == "early" && time.Since(asked) > r.Lease()/8 && r.WaitMS > 0:
			return m.hold(r, owner, uint64(time.Now().UnixMicro()), tried), nil
		case m.mutant == "hands over" && m.isHanded(r.Key):
			return m.hold(r, owner, 1<<60, tried), nil
		case m.mutant == "patient" && strings.HasSuffix(r.Key, ":2"), m.mutant == "endless try" && r.WaitMS == 0:
		case (m.mutant == "deaf" || m.mutant == "misses messages") && r.WaitMS > 0:
			m.message()
		case m.mutant == "stale waiter" && time.Since(asked) < r.Wait():
			heard = m.listen(ctx, heard, asked.Add(r.Wait()))
			continue // it looks again
		case m.mutant == "asleep" && r.Wait() >= longWait && m.grants.Load()%20 == 0:
			time.Sleep(r.Wait() - time.Since(asked)) // it has missed a message
			return protocol.Held{}, protocol.ErrRefused
		case time.Since(asked) >= r.Wait() || m.mutant == "hasty":
			m.leave(r, owner)
			return protocol.Held{}, protocol.ErrRefused
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// answerLate keeps some grants back for two seconds and a half, or until another caller of the process is granted the key.
func (m *mutantLock) answerLate() {
	if m.mutant != "late" {
		return
	}
	select {
	case m.next <- struct{}{}: // to a grant that is kept back
		return
	default:
	}
	if m.grants.Load()%20 == 0 {
		select {
		case <-m.next:
		case <-time.After(2500 * time.Millisecond):
		}
	}
}

// leave ends a wait, and leaves something behind when that is its defect.
func (m *mutantLock) leave(r protocol.Request, owner string) {
	switch {
	case m.mutant == "stale waiter" && r.WaitMS > 0:
		m.stale.Add(1)
	case m.mutant == "frees siblings" && r.WaitMS > 0 && m.holdsIn(r.Key):
		m.Del(context.Background(), r.Key)
	case m.mutant == "sticky" && r.WaitMS > 0:
		go func() { // it wants the key, and forgets it
			for range 200 {
				if token, _ := m.try(r, owner); token > 0 {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
}

// message waits until a lock is freed, on a connection of its own.
func (m *mutantLock) message() {
	conn, err := net.Dial("tcp", m.Options().Addr)
	if err == nil {
		_, err = fmt.Fprint(conn, "*2\r\n$9\r\nSUBSCRIBE\r\n$5\r\nfreed\r\n") // miniredis has no inline commands
	}
	if err == nil && m.mutant == "misses messages" { // it looks again after a while
		_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	}
	for range 2 { // the reply, and a message
		if err == nil {
			_, err = conn.Read(make([]byte, 512))
		}
	}
	if err != nil && m.mutant == "deaf" {
		select {} // it does not look whether the connection is there
	}
}

// isHanded takes a key that a release has left to a waiter of this process.
func (m *mutantLock) isHanded(key string) bool {
	_, handed := m.handed.LoadAndDelete(key)
	return handed
}

// listen begins to listen, and then waits for a message until a moment. The first waiter of the process has it, even one that has gone.
func (m *mutantLock) listen(ctx context.Context, heard *redis.PubSub, end time.Time) *redis.PubSub {
	if heard == nil {
		heard = m.Subscribe(ctx, "freed")
		_, _ = heard.Receive(ctx)
		return heard
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	for {
		_, err := heard.ReceiveMessage(ctx)
		if err != nil || m.stale.Add(-1) < 0 {
			m.stale.Store(0)
			return heard
		}
	}
}

// holdsIn reports whether another caller of this process holds a key.
func (m *mutantLock) holdsIn(key string) bool {
	_, holds := m.owners.Load(key)
	return holds
}

// longWait is the wait of a copy that competes; no other wait of the lab is as long.
const longWait = 10 * time.Second

func (m *mutantLock) lease(r protocol.Request) int64 {
	switch m.mutant {
	case "no expiry":
		return time.Hour.Milliseconds()
	case "whole seconds":
		return max(1000, r.LeaseMS/1000*1000)
	}
	return r.LeaseMS
}

// set locks the key if it is free. Some defects ask another key before.
func (m *mutantLock) set(ctx context.Context, r protocol.Request, owner string) (token uint64, err error) {
	var ticket uint64
	if strings.HasPrefix(m.mutant, "fence") || m.mutant == "ticket" {
		if ticket, err = m.Incr(ctx, "fence:"+r.Key).Uint64(); err != nil {
			return 0, err
		}
	}
	switch m.mutant {
	case "ticket":
		time.Sleep(3 * time.Millisecond)
	case "fence, then SETNX":
		locked, err := m.SetNX(ctx, r.Key, owner, 0).Result()
		if err != nil || !locked {
			return 0, err
		}
		return ticket, m.PExpire(ctx, r.Key, r.Lease()).Err()
	}
	token, err = grantScript.Run(ctx, m, []string{r.Key}, owner, m.lease(r)).Uint64()
	if token > 0 && ticket > 0 {
		token = ticket
	}
	return token, err
}

func (m *mutantLock) try(r protocol.Request, owner string) (token uint64, err error) {
	if m.mutant == "queue" && r.WaitMS > 0 {
		first, err := queueScript.Run(context.Background(), m, []string{r.Key + ":queue"}, owner).Text()
		if err != nil || first != owner {
			return 0, err
		}
		defer func() {
			if token > 0 {
				m.LPop(context.Background(), r.Key+":queue")
			}
		}()
	}
	token, err = m.set(context.Background(), r, owner)
	if token == 0 && err == nil && m.mutant == "shared" && m.grants.Load()%20 == 0 {
		return 1, nil
	}
	switch {
	case token == 0:
	case m.mutant == "token of 1":
		return 1, err
	case m.mutant == "blocks":
		if m.block.Load() == 0 {
			m.block.Store(1000 * m.Incr(context.Background(), "blocks").Val())
		}
		return uint64(m.block.Load() + m.grants.Load()), err
	case m.mutant == "counter":
		return m.Incr(context.Background(), r.Key+":tokens").Uint64()
	}
	return token, err
}

// hold renews the grant until the release, and tells when it is lost.
func (m *mutantLock) hold(r protocol.Request, owner string, token uint64, asked time.Time) protocol.Held {
	m.owners.Store(r.Key, owner)
	ctx, cancel := context.WithCancel(context.Background())
	lost := make(chan string, 1)
	go func() {
		defer close(lost)
		m.renew(ctx, r, owner)
		if ctx.Err() == nil && m.mutant != "tells never" {
			lost <- "it is gone"
		}
		<-ctx.Done()
		switch m.mutant {
		case "tells late": // of a lock that it has released
			time.Sleep(r.Lease() / 3)
			lost <- "it is gone"
		case "crosses": // a renewal that is under way finds that the release came first
			lost <- "it is gone"
		}
	}()
	release := func(ctx context.Context) error { return m.end(ctx, r.Key, owner, cancel) }
	until := r.Lease() - time.Since(asked)
	if m.mutant == "until" {
		until *= 3
	}
	return protocol.Held{Token: token, Until: until, Lost: lost, Release: release, Extend: func(ctx context.Context) error {
		return m.extend(ctx, r, owner)
	}}
}

func (m *mutantLock) extend(ctx context.Context, r protocol.Request, owner string) error {
	if m.mutant == "extends nothing" {
		return protocol.ErrNotHeld
	}
	lease := m.lease(r)
	if m.mutant == "half an extension" {
		lease /= 2
	}
	extend := renewScript
	if m.mutant == "resurrects" {
		extend = againScript
	}
	extended, err := extend.Run(ctx, m, []string{r.Key}, owner, lease).Int()
	if m.mutant == "slow" {
		time.Sleep(r.Lease() / 3)
	}
	if err == nil && extended == 0 && m.mutant != "extends all" {
		err = protocol.ErrNotHeld
	}
	return err
}

// end releases a grant, and ends its renewal.
func (m *mutantLock) end(ctx context.Context, key, owner string, cancel func()) error {
	if last, known := m.owners.LoadAndDelete(key); known && m.mutant == "release by key" {
		owner = last.(string)
	}
	if m.mutant == "hands over" && m.waiting.Load() > 0 { // and does not look whether it was lost
		m.handed.Store(key, true)
		cancel()
		return nil
	}
	if m.mutant == "crosses" {
		cancel()
		time.Sleep(10 * time.Millisecond)
	}
	err := m.release(ctx, key, owner)
	if err == nil || errors.Is(err, protocol.ErrNotHeld) || m.mutant != "renews on" {
		cancel()
	}
	return err
}

// renew renews a grant until ctx ends, or until it is lost.
func (m *mutantLock) renew(ctx context.Context, r protocol.Request, owner string) {
	began := time.Now()
	for good := began; ; {
		time.Sleep(r.Lease() / m.renewals) // the first one is not beside the grant: the reply that T08 loses is that of the release
		if ctx.Err() != nil {
			return
		}
		asked := time.Now()
		renewed, err := m.renewal(ctx, m, r.Key, owner, m.lease(r))
		switch {
		case m.mutant == "cries" && time.Since(began) > 6*r.Lease()/10:
			return
		case err == nil && renewed == 1:
			good = asked
		case m.mutant == "exits" && err != nil:
			os.Exit(1)
		case err == nil || time.Since(good) > r.Lease() || strings.HasPrefix(m.mutant, "renewal dies"):
			return
		case m.mutant == "tied":
			for m.Del(ctx, r.Key).Err() != nil && ctx.Err() == nil { // until it is connected again
			}
		}
	}
}

func (m *mutantLock) release(ctx context.Context, key, owner string) error {
	if m.mutant == "no owner" {
		return m.Del(ctx, key).Err()
	}
	freed, err := m.free(ctx, m, key, owner)
	switch {
	case m.mutant == "repeats" && err != nil:
		go func() {
			for { // until the program ends: the next holder may come late
				m.Del(context.Background(), key)
				time.Sleep(3 * time.Millisecond)
			}
		}()
	case m.mutant == "deaf" || m.mutant == "misses messages" || m.mutant == "stale waiter":
		m.Publish(ctx, "freed", key)
	}
	if err == nil && freed == 0 && m.mutant != "says released" {
		err = protocol.ErrNotHeld
	}
	return err
}
