package anatomy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
)

var L21 = experiments.Experiment{
	ID:       "L21-key-collision",
	Articles: experiments.Articles{"A0"},
	Claim:    "Without separators two bookings can have the same lock key, and with two date formats one booking can have two keys.",
	Says: `
		A0 writes the key of the lock as hotel + checkIn + checkOut + number of guests. It names no separator and no format of a date.
		A0 locks a query of the room status. The run uses the same key for bookings.`,
	Errata: []experiments.Erratum{{
		Article: "A0", What: `
		A0's key has no separators and no format of the dates. Two different queries can have one key, and one query can have two. A0 locks
		queries of the room status. Where the same key guards bookings, the lock refuses a client that disturbs nobody, or lets two
		clients into one booking.`,
		Where: "section 5, part 1: `key = hoteld + checkIn + checkOut`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A supplier's hotel 7 is locked by hotel + checkIn + checkOut + guests. One client asks for 2026-1-1 and 22 guests, another one
			for 2026-1-12 and 2 guests. Both check in on 2025-12-30. Does one of them wait for the other?`,
		Predict: `
			(a) No: the bookings differ, so the keys differ. (b) Yes: both keys end in 2026-1-122. (c) It depends on which client comes
			first.`,
		Why: `
			(b). Both keys are the same text, so both bookings share one lock. The second client is refused, although the first one has
			another booking. No update is lost: the lock is too coarse. The opposite is worse. Two nodes write one booking as 2026-01-01 and
			as 2026-1-1. Then the lock has two keys and each node holds one of them. Both read the same number of sales, and one update is
			lost. Separators alone do not fix that.`,
		Fix: `
			Give each field one format before it becomes part of a key: parse the date, and print it as ISO 8601 says. Then keep the fields
			apart, by a separator that no field can contain, or by the length before each field. Make the key in one function that all
			nodes share.`,
		Limits: `
			A0 gives no example of a date. With padded dates of one format its key is unambiguous, because their width shows where they
			begin. One variant shows that. Such a key works until a field changes its width. Stays that overlap have different keys, so that
			this key does not stop two stays in one night. A key of only the hotel does, and lets all bookings of the hotel wait for each
			other.`,
		Next: "L16-cluster-slots is about the keys of a lock in a cluster. L04-shared-value makes the same mistake with the value of a " +
			"lock: two attempts look like one.",
		Level: experiments.Basic,
	},
	Drawing: `
A   7 · 2025-12-30 · 2026-1-1  · 22    grant 72025-12-302026-1-122
B   7 · 2025-12-30 · 2026-1-12 · 2             72025-12-302026-1-122 → refused`,
	How: `
		A locks its booking and reads how often it is sold. B tries once in that moment, adds one sale if it is granted, and A writes. If B
		was refused, it waits until A has released. Each client makes its key from the four fields, and has an owner of its own in Redis. A
		refusal by another booking's lock is a violation, although no update is lost.`,
	Schedule: experiments.Schedule{Takes: 2 * time.Second},
	Check:    clients.Any(history.Counter, refusedByAnotherBooking),
	Variants: []experiments.Variant{
		{Name: "separators, two bookings", Run: twoGuests(separated, group, couple)},
		{Name: "separators, one booking", Run: twoGuests(separated, couple, couple)},
		{Name: "as printed, two bookings", Expect: experiments.Sometimes, Run: twoGuests(asPrinted, group, couple)},
		{Name: "as printed, one booking in two formats", Expect: experiments.Sometimes, Run: twoGuests(asPrinted, couple, couple.withPadding())},
		{Name: "separators, one booking in two formats", Expect: experiments.Sometimes, Run: twoGuests(separated, couple, couple.withPadding())},
		{Name: "as printed, two bookings, padded dates", Run: twoGuests(asPrinted, group.withPadding(), couple.withPadding())},
		{Name: "lengths, two bookings", Run: twoGuests(lengths, group, couple)},
		{Name: "lengths, one booking", Run: twoGuests(lengths, couple, couple)},
	},
}

// Formats of a date, as a client writes it.
const (
	unpadded = "2006-1-2"
	padded   = time.DateOnly
)

// booking is what a client asks for. Two bookings are equal when they differ in the format only.
type booking struct {
	hotel   int
	in, out time.Time
	guests  int
	format  string // of the dates in the key
}

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// These two have the same key without separators: the 2 moves from the number of guests to the day.
var (
	group  = booking{7, day(2025, 12, 30), day(2026, 1, 1), 22, unpadded}
	couple = booking{7, day(2025, 12, 30), day(2026, 1, 12), 2, unpadded}
)

// withPadding is the same booking, with padded dates.
func (b booking) withPadding() booking {
	b.format = padded
	return b
}

func (b booking) String() string {
	return fmt.Sprintf("hotel %d, %s to %s, guests %d", b.hotel, b.in.Format(padded), b.out.Format(padded), b.guests)
}

func (b booking) fields() []string {
	return []string{fmt.Sprint(b.hotel), b.in.Format(b.format), b.out.Format(b.format), fmt.Sprint(b.guests)}
}

// asPrinted is A0's key.
func asPrinted(b booking) string { return strings.Join(b.fields(), "") }

// separated puts a character between the fields that is in none of them.
func separated(b booking) string { return strings.Join(b.fields(), ":") }

// lengths puts the length before each field, so that a field may contain any character.
func lengths(b booking) (key string) {
	for _, field := range b.fields() {
		key += fmt.Sprintf("%d:%s", len(field), field)
	}
	return key
}

// twoGuests lets A lock its booking and read how often it is sold. Then B tries, and A writes. B sells once, now or after A's release.
func twoGuests(key func(booking) string, ofA, ofB booking) experiments.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		booked := make(map[string]*clients.Resource)
		client := func(name string, wanted booking) (*clients.Client, *clients.Resource) {
			c := x.NewClient(name, clients.LongLease)
			c.Key = key(wanted)
			x.Record(history.Event{Timeline: name, Kind: history.Note, Key: wanted.String(), Text: "wants " + wanted.String()})
			c.Note("key " + c.Key)
			if booked[wanted.String()] == nil {
				r := clients.NewResource(x.Trial, false)
				r.Key = wanted.String()
				booked[r.Key] = r
			}
			return c, booked[wanted.String()]
		}
		a, soldOfA := client("A", ofA)
		b, soldOfB := client("B", ofB)

		first := a.Acquire(ctx)
		value := soldOfA.Read(first)
		sold := b.UpdateOnce(ctx, soldOfB)
		soldOfA.Write(first, value+1) // of one booking: over what B wrote, if B was in
		first.Release(ctx)
		if !sold {
			b.Update(ctx, soldOfB)
		}
	})
}

// refusedByAnotherBooking finds refusals by a holder that wants another booking. A client's note has the booking as its key.
func refusedByAnotherBooking(trial []history.Event) (found []history.Violation) {
	wants := make(map[string]history.Event)   // by timeline
	holders := make(map[string]history.Event) // by key of the lock
	for _, e := range trial {
		switch {
		case e.Kind == history.Note && e.Key != "":
			wants[e.Timeline] = e
		case e.Kind == history.Grant:
			holders[e.Key] = e
		case e.Kind == history.Release:
			delete(holders, e.Key)
		case e.Kind == history.Refuse:
			holder, held := holders[e.Key]
			mine, other := wants[e.Timeline], wants[holder.Timeline]
			if held && mine.Key != other.Key {
				found = append(found, history.Violation{
					Key: e.Key, What: fmt.Sprintf("%s and %s want different bookings, and %[2]s is refused: both have the key %s",
						holder.Timeline, e.Timeline, e.Key),
					Events: []int{other.Seq, mine.Seq, holder.Seq, e.Seq},
				})
			}
		}
	}
	return found
}
