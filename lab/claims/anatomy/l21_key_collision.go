package anatomy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
)

var L21 = Experiments.Add(lab.Experiment{
	ID:       "L21-key-collision",
	Articles: lab.Articles{"A0"},
	Claim:    "Without separators two bookings can have the same lock key, and with two date formats one booking can have two keys.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 2 * time.Second},
	Check:    clients.Any(history.Counter, refusedByAnotherBooking),
	Variants: []lab.Variant{
		{Name: "separators, two bookings", Run: twoGuests(separated, group, couple)},
		{Name: "separators, one booking", Run: twoGuests(separated, couple, couple)},
		{Name: "as printed, two bookings", Expect: lab.Sometimes, Run: twoGuests(asPrinted, group, couple)},
		{Name: "as printed, one booking in two formats", Expect: lab.Sometimes, Run: twoGuests(asPrinted, couple, couple.withPadding())},
		{Name: "separators, one booking in two formats", Expect: lab.Sometimes, Run: twoGuests(separated, couple, couple.withPadding())},
		{Name: "as printed, two bookings, padded dates", Run: twoGuests(asPrinted, group.withPadding(), couple.withPadding())},
		{Name: "lengths, two bookings", Run: twoGuests(lengths, group, couple)},
		{Name: "lengths, one booking", Run: twoGuests(lengths, couple, couple)},
	},
})

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
func twoGuests(key func(booking) string, ofA, ofB booking) lab.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		booked := make(map[string]*clients.Resource)
		client := func(name string, wanted booking) (*clients.Client, *clients.Resource) {
			c := x.NewClient(name, clients.LongLease)
			c.Key = key(wanted)
			x.Record(history.Event{Timeline: name, Kind: history.Note, Key: wanted.String(), Text: "wants " + wanted.String()})
			x.Note(name, "key "+c.Key)
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
