package main

import (
	"fmt"
	"strings"

	"locklab/experiments"
	"locklab/experiments/agent/protocol"
	"locklab/experiments/try"
)

// Rows of the conclusions.
const exclusion, told, late, restart = "T01-exclusion", "T06-told", "T05-pause", "T11-restart"

// conclusions are the three of the page. Each number and each name in them comes from the scorecards.
func conclusions(all []result) []string {
	return []string{violations(all), silent(all), fenced(all)}
}

// violations says how many ways violate a promise, and which promise most of them violate.
func violations(all []result) string {
	violated := keep(all, func(r result) bool { return r.Count(try.Violated) > 0 })
	open := keep(all, func(r result) bool { return r.Count(try.Violated) == 0 && r.Count(try.Inconclusive) > 0 })
	ours := len(all) - len(keep(all, ofLibrary))
	text := fmt.Sprintf("%d ways to lock were tried, %d of them with this lab's locks. "+
		"Four processes with short sections lost an update with: %s (T01). %d of the %d violate a promise that they must keep or claim",
		len(all), ours, names(in(all, exclusion, try.Violated)), len(violated), len(all))
	if len(open) > 0 {
		text += fmt.Sprintf(", and %d more have a row that could not be judged", len(open))
	}
	var rows []string
	most := 1
	for _, row := range try.Rows() {
		switch n := len(in(all, row.ID, try.Violated)); {
		case n > most:
			rows, most = []string{titled(row)}, n
		case n == most:
			rows = append(rows, titled(row))
		}
	}
	if len(rows) > 0 {
		text += fmt.Sprintf(". Most often violated, by %d: %s", most, strings.Join(rows, "; "))
	}
	return text + "."
}

func titled(row try.Row) string { return fmt.Sprintf("%s, %q", experiments.Number(row.ID), row.Title) }

// silent says which locks end under a holder that does not learn of it.
func silent(all []result) string {
	renews := claiming(all, func(c protocol.Claims) bool { return c.Renews })
	tells := claiming(all, func(c protocol.Claims) bool { return c.Tells })
	return fmt.Sprintf("%d of %d claim to renew their lease, and %d claim to tell the holder that its lock is lost. T06 tries two losses: "+
		"the server loses the key, or the holder is cut off. Both were reported by: %s. One was not reported by: %s.",
		len(renews), len(all), len(tells), names(in(all, told, try.Holds)), names(in(all, told, try.Violated)))
}

// fenced says which locks have tokens.
func fenced(all []result) string {
	tokens := claiming(all, func(c protocol.Claims) bool { return c.Tokens })
	return fmt.Sprintf("%d of %d claim a fencing token. The resource refused the late write of a paused holder with: %s (T05). "+
		"After a restart without data a token was not larger with: %s (T11).",
		len(tokens), len(all), names(in(all, late, try.Holds)), names(in(all, restart, try.Violated)))
}

func keep(all []result, wanted func(result) bool) (kept []result) {
	for _, r := range all {
		if wanted(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

func ofLibrary(r result) bool { return r.Of.Package != "" }

// in are those whose row came to a state.
func in(all []result, id string, state try.State) []result {
	return keep(all, func(r result) bool { return r.score(id).State == state })
}

func claiming(all []result, claim func(protocol.Claims) bool) []result {
	return keep(all, func(r result) bool { return claim(r.Claims) })
}

func names(of []result) string {
	var all []string
	for _, r := range of {
		all = append(all, r.Name)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
