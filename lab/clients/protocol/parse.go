package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the times in an answer, in milliseconds. The lab waits for the end of a lease several times.
const (
	longestUntil  = 86_400_000 // a day
	shortestLease = 1000
	longestLease  = 10_000
)

// field is one that a line of the program may have.
type field struct {
	name   string
	rule   string // what its value must be
	needed bool
	set    func(a *Answer, raw []byte) (ok bool)
}

func (f field) optional() field { f.needed = false; return f }

func (f field) ruled(rule string) field { f.rule = rule; return f }

// text is a field with a text that is not empty.
func text(name string, of func(*Answer) *string) field {
	return field{name, "a text that is not empty", true, func(a *Answer, raw []byte) bool { return decode(raw, of(a)) && *of(a) != "" }}
}

// flag is a field that is true or false.
func flag(name string, of func(*Answer) *bool) field {
	return field{name, "true or false", false, func(a *Answer, raw []byte) bool { return decode(raw, of(a)) }}
}

// number is a field with a whole number.
func number[N int | int64](name string, least, most int64, of func(*Answer) *N) field {
	rule := fmt.Sprintf("a whole number from %d to %d", least, most)
	return field{name, rule, true, func(a *Answer, raw []byte) bool {
		n, ok := wholeNumber(raw)
		*of(a) = N(n)
		return ok && n >= least && n <= most
	}}
}

var (
	id     = text("id", func(a *Answer) *string { return &a.ID })
	reason = field{"reason", "a text", false, func(a *Answer, raw []byte) bool { return decode(raw, &a.Reason) }}
	token  = field{
		"token", fmt.Sprintf(`a whole number from 1 to %d, written as a string, such as "7"`, uint64(math.MaxUint64)), false,
		func(a *Answer, raw []byte) (ok bool) {
			var digits string
			if !decode(raw, &digits) || strings.HasPrefix(digits, "0") {
				return false
			}
			var err error
			a.Token, err = strconv.ParseUint(digits, 10, 64)
			return err == nil
		},
	}
	lease = field{
		"fixed_lease_ms", fmt.Sprintf("0 or a whole number from %d to %d", shortestLease, longestLease), false,
		func(a *Answer, raw []byte) (ok bool) {
			a.LeaseMS, ok = wholeNumber(raw)
			return ok && (a.LeaseMS == 0 || a.LeaseMS >= shortestLease && a.LeaseMS <= longestLease)
		},
	}
)

// fields are those of each answer. schema.json has the same.
var fields = map[Type][]field{
	Hello: {
		number("protocol", Version, Version, func(a *Answer) *int { return &a.Protocol }).
			ruled(fmt.Sprintf("%d, which this lab speaks", Version)),
		text("name", func(a *Answer) *string { return &a.Name }),
		number("pid", 1, math.MaxInt32, func(a *Answer) *int { return &a.PID }),
		text("store", func(a *Answer) *string { return &a.Store }),
		lease,
		flag("renews", func(a *Answer) *bool { return &a.Renews }),
		flag("tokens", func(a *Answer) *bool { return &a.Tokens }),
		flag("tells_loss", func(a *Answer) *bool { return &a.Tells }),
		flag("extends", func(a *Answer) *bool { return &a.Extends }),
		flag("silent_release", func(a *Answer) *bool { return &a.Silent }),
		flag("waits_by_message", func(a *Answer) *bool { return &a.Messages }),
		flag("waits_for_replica", func(a *Answer) *bool { return &a.Replica }),
	},
	Ready:    {text("key", func(a *Answer) *string { return &a.Key }).optional()},
	Granted:  {id, token, number("until_ms", 0, longestUntil, func(a *Answer) *int64 { return &a.UntilMS }).optional()},
	Refused:  {id, reason},
	Released: {id},
	NotHeld:  {id},
	Error:    {{"text", "a text", true, func(a *Answer, raw []byte) bool { return decode(raw, &a.Text) }}, id.optional()},
	Lost:     {id, reason},
}

// Parse reads a line of the program. The error names the field that is wrong, and what it must be.
func Parse(line []byte) (a Answer, err error) {
	var found map[string]json.RawMessage
	err = json.Unmarshal(line, &found)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return a, fmt.Errorf("it is no JSON object (logs belong on stderr): %w", err)
	}
	if err != nil || found == nil {
		return a, errors.New("it is no JSON object (logs belong on stderr)")
	}
	switch raw, has := found["type"]; {
	case !has:
		return a, fmt.Errorf("it has no type; the types are %s", types())
	case !decode(raw, &a.Type) || fields[a.Type] == nil:
		return a, fmt.Errorf("no answer has the type %s; the types are %s", shorten(raw), types())
	}
	if a.Type == Hello {
		a.Claims = new(Claims)
	}
	return a, a.fill(found)
}

// fill takes the values of a line, or says what is wrong with one.
func (a *Answer) fill(found map[string]json.RawMessage) error {
	var names []string
	for _, f := range fields[a.Type] {
		names = append(names, f.name)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if name != "type" && !slices.Contains(names, name) {
			return fmt.Errorf("%s has no field %q; its fields are %s", a.Type, shorten([]byte(name)), strings.Join(names, ", "))
		}
	}
	for _, f := range fields[a.Type] {
		switch raw, has := found[f.name]; {
		case !has && f.needed:
			return fmt.Errorf("%s needs the field %s: %s", a.Type, f.name, f.rule)
		case has && !f.set(a, raw):
			return fmt.Errorf("%s is %s; it must be %s", f.name, shorten(raw), f.rule)
		}
	}
	return nil
}

// types lists the types of the answers.
func types() string {
	var all []string
	for t := range fields {
		all = append(all, string(t))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func shorten(raw []byte) string {
	const most = 60
	if len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}

// decode reads a value of JSON that is not null.
func decode[T any](raw []byte, into *T) (ok bool) {
	return string(raw) != "null" && json.Unmarshal(raw, into) == nil
}

// wholeNumber reads a whole number of JSON, such as 950, 950.0 or 1e3. It refuses one that a float64 does not hold exactly.
func wholeNumber(raw []byte) (n int64, ok bool) {
	var f float64
	if !decode(raw, &f) || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}
