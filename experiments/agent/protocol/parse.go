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
	"unicode"
)

// Bounds of the times in an answer, in milliseconds. The lab waits for the end of a lease several times.
const (
	longestUntil  = 86_400_000 // a day
	shortestLease = 1000
	longestLease  = 10_000
)

// field is one that a line may have.
type field struct {
	name   string
	value  value
	needed bool
}

// value is what a field may have.
type value struct {
	must string                                  // be
	read func(raw []byte) (of any, allowed bool) // as Go writes it
}

var (
	id     = field{"id", some, true}
	reason = field{"reason", value{"a text", read(func(string) bool { return true })}, false}
	some   = value{"a text that is not empty", read(func(s string) bool { return s != "" })}
	flag   = value{"true or false", read(func(bool) bool { return true })}
	token  = value{fmt.Sprintf(`a whole number from 1 to %d, written as a string, such as "7"`, uint64(math.MaxUint64)), read(isToken)}
	store  = value{"one of " + strings.Join(Stores, ", "), read(func(s string) bool { return slices.Contains(Stores, s) })}
	lease  = value{fmt.Sprintf("0 or a whole number from %d to %d", shortestLease, longestLease), func(raw []byte) (any, bool) {
		n, whole := readWhole(raw)
		return n, whole && (n == 0 || n >= shortestLease && n <= longestLease)
	}}
)

// fields are those of each answer. schema.json has the same.
var fields = map[Type][]field{
	Hello: {
		{"protocol", value{fmt.Sprintf("%d, which this lab speaks", Version), wholeFrom(Version, Version)}, true},
		{"name", some, true},
		{"pid", whole(1, math.MaxInt32), true},
		{"store", store, true},
		{"fixed_lease_ms", lease, false},
		{"renews", flag, false},
		{"tokens", flag, false},
		{"tells_loss", flag, false},
		{"extends", flag, false},
		{"waits_by_message", flag, false},
	},
	Ready:    {{"key", some, false}},
	Granted:  {id, {"token", token, false}, {"until_ms", whole(0, longestUntil), false}},
	Refused:  {id, reason},
	Released: {id},
	NotHeld:  {id},
	Error:    {{"text", reason.value, true}, {"id", some, false}},
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
	var name Type
	if raw, has := found["type"]; !has {
		return a, fmt.Errorf("it has no type; %s", typesAre())
	} else if _ = json.Unmarshal(raw, &name); fields[name] == nil {
		return a, fmt.Errorf("no answer has the type %s; %s", shorten(raw), typesAre())
	}
	values, err := check(name, found)
	if err != nil {
		return a, err
	}
	text, err := json.Marshal(values)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}

// check returns the values of a line, or what is wrong with one.
func check(of Type, found map[string]json.RawMessage) (map[string]any, error) {
	names := []string{"type"}
	for _, f := range fields[of] {
		names = append(names, f.name)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%s has no field %q; its fields are %s", of, shorten([]byte(name)), strings.Join(names[1:], ", "))
		}
	}
	values := map[string]any{"type": of}
	for _, f := range fields[of] {
		raw, has := found[f.name]
		if !has && f.needed {
			return nil, fmt.Errorf("%s needs the field %s: %s", of, f.name, f.value.must)
		}
		if !has {
			continue
		}
		v, allowed := f.value.read(raw)
		if !allowed {
			return nil, fmt.Errorf("%s is %s; it must be %s", f.name, shorten(raw), f.value.must)
		}
		values[f.name] = v
	}
	return values, nil
}

func typesAre() string {
	var all []string
	for _, name := range answers {
		all = append(all, string(name))
	}
	return "the types are " + strings.Join(all, ", ")
}

// shorten is the beginning of a text, as it may be printed.
func shorten(text []byte) string {
	const most = 60
	rest := ""
	if len(text) > most {
		text, rest = text[:most], "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, string(text)) + rest
}

// read makes a reader of JSON values of one Go type.
func read[T any](allowed func(T) bool) func([]byte) (any, bool) {
	return func(raw []byte) (any, bool) {
		v := new(*T) // nil: it is null
		if err := json.Unmarshal(raw, v); err != nil || *v == nil {
			return nil, false
		}
		return **v, allowed(**v)
	}
}

func isToken(s string) bool {
	n, err := strconv.ParseUint(s, 10, 64)
	return err == nil && n > 0 && s[0] != '0'
}

func whole(least, most int64) value {
	return value{fmt.Sprintf("a whole number from %d to %d", least, most), wholeFrom(least, most)}
}

func wholeFrom(least, most int64) func([]byte) (any, bool) {
	return func(raw []byte) (any, bool) {
		n, whole := readWhole(raw)
		return n, whole && n >= least && n <= most
	}
}

// readWhole reads a whole number of JSON, such as 950, 950.0 or 1e3. It refuses one that a float64 does not hold exactly.
func readWhole(raw []byte) (n int64, is bool) {
	var f *float64
	if err := json.Unmarshal(raw, &f); err != nil || f == nil || *f != math.Trunc(*f) || math.Abs(*f) > 1<<53 {
		return 0, false
	}
	return int64(*f), true
}
