package cache

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"
)

// Bloom is a Bloom filter in Redis before a reader and a writer, the same for all processes. It lets no load through of an item that it
// does not know. Of those that do not exist, about one in a hundred gets through.
type Bloom struct {
	Reader
	Writer

	client redis.Cmdable
	key    string
	bits   uint // the bit with this number says that all items were added
	hashes uint
}

// NewBloom returns a filter for so many items, whose bits are in a key. Until Build, and after Redis has lost its data, every item gets
// through.
func NewBloom(client redis.Cmdable, key string, items uint, from Reader, to Writer) *Bloom {
	bits, hashes := bloom.EstimateParameters(max(items, 1), 0.01)
	return &Bloom{from, to, client, key, bits, hashes}
}

// Build adds all items that exist. An item that is written meanwhile adds itself.
func (b *Bloom) Build(ctx context.Context, db *Database) error {
	var ids []uint64
	if err := db.do(ctx, func(db *gorm.DB) error { return db.Model(&Item{}).Pluck("id", &ids).Error }); err != nil {
		return err
	}
	if err := b.set(ctx, ids...); err != nil {
		return err
	}
	return answered(ctx, b.client.SetBit(ctx, b.key, int64(b.bits), 1).Err())
}

// Get implements [Reader]. One transaction reads all bits: a restart of Redis cannot come between them.
func (b *Bloom) Get(ctx context.Context, id uint64) (Item, error) {
	var built *redis.IntCmd
	var bits []*redis.IntCmd
	_, err := b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, bit := range b.locations(id) {
			bits = append(bits, p.GetBit(ctx, b.key, bit))
		}
		built = p.GetBit(ctx, b.key, int64(b.bits))
		return nil
	})
	if err != nil {
		return Item{}, answered(ctx, err)
	}
	for _, bit := range bits {
		if bit.Val() == 0 && built.Val() == 1 {
			return Item{}, fmt.Errorf("%w: %d", ErrNotFound, id)
		}
	}
	return b.Reader.Get(ctx, id)
}

// Put implements [Writer]. An item that is added for a write that fails costs loads, and makes no answer wrong.
func (b *Bloom) Put(ctx context.Context, id uint64, text string) (Item, error) {
	if err := b.set(ctx, id); err != nil {
		return Item{}, err
	}
	return b.Writer.Put(ctx, id, text)
}

func (b *Bloom) set(ctx context.Context, ids ...uint64) error {
	_, err := b.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			for _, bit := range b.locations(id) {
				p.SetBit(ctx, b.key, bit, 1)
			}
		}
		return nil
	})
	return answered(ctx, err)
}

func (b *Bloom) locations(id uint64) (bits []int64) {
	for _, l := range bloom.Locations(binary.BigEndian.AppendUint64(nil, id), b.hashes) {
		bits = append(bits, int64(l%uint64(b.bits)))
	}
	return bits
}
