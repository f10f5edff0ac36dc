package main

import (
	"fmt"
	"strings"

	"locklab/experiments"
	"locklab/experiments/agent/protocol"
	"locklab/experiments/try"
)

// conclusions are the three sentences of the page. Each number and each name in them comes from the scorecards.
func conclusions(all []result) []string {
	return []string{excluded(all), silent(all), fenced(all)}
}

// excluded says what all locks have in common, and which of them violate nothing.
func excluded(all []result) string {
	without := keep(all, func(r result) bool { return r.Count(try.Violated) == 0 })
	exclusion := keep(all, func(r result) bool { return r.score("T01-exclusion").State == try.Holds })
	text := fmt.Sprintf("Without a fault %d of %d locks lost no update (T01). ", len(exclusion), len(all))
	row, most := "", 0
	for _, one := range try.Rows() {
		if n := len(keep(all, func(r result) bool { return r.score(one.ID).State == try.Violated })); n > most {
			row, most = fmt.Sprintf("%s, %q", experiments.Number(one.ID), one.Title), n
		}
	}
	text += fmt.Sprintf("%d of them violated none of their promises in this run.", len(without))
	if most > 0 {
		text += fmt.Sprintf(" Most violations, %d, are in %s.", most, row)
	}
	return text
}

// silent says which locks end under a holder that does not learn of it.
func silent(all []result) string {
	renews := claiming(all, func(c protocol.Claims) bool { return c.Renews })
	tells := claiming(all, func(c protocol.Claims) bool { return c.Tells })
	held := keep(tells, func(r result) bool { return r.score("T06-told").State == try.Holds })
	return fmt.Sprintf("%s renew their lease by themselves. %s tell the holder that its lock is lost. "+
		"Both losses that were tried (T06) were told by: %s.",
		count(renews, all), count(tells, all), names(held))
}

// fenced says which locks have tokens.
func fenced(all []result) string {
	tokens := claiming(all, func(c protocol.Claims) bool { return c.Tokens })
	held := keep(tokens, func(r result) bool { return r.score("T05-pause").State == try.Holds })
	return fmt.Sprintf("%s have a fencing token: %s. With %d of these the resource refused the late write of a paused holder (T05).",
		count(tokens, all), names(tokens), len(held))
}

func keep(all []result, wanted func(result) bool) (kept []result) {
	for _, r := range all {
		if wanted(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

func claiming(all []result, claim func(protocol.Claims) bool) []result {
	return keep(all, func(r result) bool { return claim(r.Claims) })
}

func count(some, all []result) string { return fmt.Sprintf("%d of %d", len(some), len(all)) }

func names(of []result) string {
	if len(of) == 0 {
		return "none"
	}
	var all []string
	for _, r := range of {
		all = append(all, r.Name)
	}
	return strings.Join(all, ", ")
}
