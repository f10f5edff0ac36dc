// Package changes brings what a database itself says has changed to a cache, by any writer (A3's upgrade, as canal does it). A source
// of changes is a binlog or an outbox; a Redis stream with acknowledgements carries them to the consumers that delete keys.
//
// What is NOT guaranteed: that a key is deleted before its writer has its answer. The cache is old until then. A reader that has loaded
// before the update may fill after the delete, as with every other delete.
package changes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrUnavailable says that Redis, the database or a program gave no usable answer. Begin again: nothing is lost.
var ErrUnavailable = errors.New("changes: server unavailable")

// ErrPosition says that a source has no such position: the database lost its data, or removed what was not read yet. Changes may be lost.
var ErrPosition = errors.New("changes: the position is not there any more")

// ErrUnsure says that nobody knows which changes a source has missed. Drop the cache, and begin with what comes from now on.
var ErrUnsure = errors.New("changes: some may be missing")

// Deleter forgets an item.
type Deleter interface {
	Delete(ctx context.Context, id uint64) error
}

// Change says that an item has changed.
type Change struct {
	ID    uint64
	After string // where to go on when this change is done
}

// Source is where the changes come from.
type Source interface {
	// Now returns the position behind the last change.
	Now(ctx context.Context) (position string, err error)
	// Follow tells every change after a position until ctx ends, or tell fails. [ErrPosition]: it cannot begin there. [ErrUnsure]: changes may
	// be missing.
	Follow(ctx context.Context, after string, tell func(Change) error) error
}

// Stream carries changes to the consumers that delete keys, through a Redis stream with acknowledgements. After a crash a change may be
// told twice, and none is left out: a second delete does no harm.
type Stream struct {
	Client redis.Cmdable
	Key    string        // of the stream; its consumers' group has the same name
	Idle   time.Duration // after which a change that was delivered and not acknowledged goes to another consumer
}

// position is the key with the position after the last change that the stream has. A Redis that loses its data loses both.
func (s Stream) position() string { return s.Key + ":position" }

// Relay puts changes into the stream, from its position on. It saves the position after Redis has confirmed the change: saved before, a
// crash between the two loses the change.
func (s Stream) Relay(ctx context.Context, from Source) error {
	after, err := s.Client.Get(ctx, s.position()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return answered(ctx, err)
	}
	return from.Follow(ctx, after, func(c Change) error {
		err := s.Add(ctx, c)
		if err == nil {
			err = answered(ctx, s.Client.Set(ctx, s.position(), c.After, 0).Err())
		}
		return err
	})
}

// Add puts a change into the stream.
func (s Stream) Add(ctx context.Context, c Change) error {
	return answered(ctx, s.Client.XAdd(ctx, &redis.XAddArgs{Stream: s.Key, Values: []any{"id", c.ID}}).Err())
}

// Consume deletes what has changed, until ctx ends or a server does not answer. It acknowledges a change after the delete: acknowledged
// before, a crash between the two loses the change.
func (s Stream) Consume(ctx context.Context, consumer string, cache Deleter) error {
	err := s.Client.XGroupCreateMkStream(ctx, s.Key, s.Key, "0").Err()
	if err != nil && !redis.HasErrorPrefix(err, "BUSYGROUP") {
		return answered(ctx, err)
	}
	for {
		messages, err := s.next(ctx, consumer)
		for _, m := range messages {
			text, _ := m.Values["id"].(string)
			id, _ := strconv.ParseUint(text, 10, 64)
			if err := cache.Delete(ctx, id); err != nil {
				return err
			}
			err := s.Client.XAck(ctx, s.Key, s.Key, m.ID).Err()
			if err == nil {
				err = s.Client.XDel(ctx, s.Key, m.ID).Err() // otherwise the stream grows
			}
			if err != nil {
				return answered(ctx, err)
			}
		}
		if err != nil {
			return answered(ctx, err)
		}
	}
}

func answered(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// next returns changes that another consumer has left, and otherwise new ones.
func (s Stream) next(ctx context.Context, consumer string) ([]redis.XMessage, error) {
	left, _, err := s.Client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: s.Key, Group: s.Key, Consumer: consumer, MinIdle: s.Idle, Start: "0", Count: 100,
	}).Result()
	if err != nil || len(left) > 0 {
		return left, err
	}
	streams, err := s.Client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: s.Key, Consumer: consumer, Streams: []string{s.Key, ">"}, Count: 100, Block: s.Idle,
	}).Result()
	if err != nil || len(streams) == 0 {
		if errors.Is(err, redis.Nil) { // nothing new
			err = nil
		}
		return nil, err
	}
	return streams[0].Messages, nil
}
