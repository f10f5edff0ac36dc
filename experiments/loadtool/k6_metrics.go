package loadtool

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// pair are the tags of a counter's part: the instance and one other.
type pair struct{ instance, other string }

func byTags(a, b pair) int {
	return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.other, b.other))
}

// tally reads a counter: each part that has the tag instance and the other one, and the total.
func (s summary) tally(metric, other string) (map[pair]int, int, error) {
	parts, sum := map[pair]int{}, 0
	for name := range s {
		base, tags := parseName(name)
		p := pair{tags["instance"], tags[other]}
		if base != metric || len(tags) != 2 || p.instance == "" || p.other == "" {
			continue
		}
		n, err := s.whole(name, "count")
		if err != nil {
			return nil, 0, err
		}
		if _, twice := parts[p]; twice || n < 0 {
			return nil, 0, damaged(k6, "it has %s twice, or below 0", name)
		}
		if sum += n; sum > maxUsers {
			return nil, 0, damaged(k6, "%s counts more than %d", metric, maxUsers)
		}
		parts[p] = n
	}
	if _, ok := s[metric]; !ok && sum == 0 { // k6 leaves out what nobody counted
		return parts, 0, nil
	}
	total, err := s.whole(metric, "count")
	return parts, total, err
}

// whole is a whole number that the summary must have.
func (s summary) whole(metric, value string) (int, error) {
	n, ok := s[metric][value]
	if !ok {
		return 0, fmt.Errorf("the summary of k6 has no %s: the run was stopped, or its setup or teardown failed; run it again", metric)
	}
	if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return 0, damaged(k6, "%s is %v, which is no whole number", metric, n)
	}
	return int(n), nil
}

// parseName takes a name such as lab_run{kind:pview,version:v3} apart, as k6 does.
func parseName(name string) (metric string, tags map[string]string) {
	metric, list, tagged := strings.Cut(name, "{")
	if !tagged {
		return name, nil
	}
	tags = map[string]string{}
	for tag := range strings.SplitSeq(strings.TrimSuffix(list, "}"), ",") {
		key, value, _ := strings.Cut(tag, ":")
		tags[strings.Trim(key, ` "'`)] = strings.Trim(value, ` "'`)
	}
	return metric, tags
}
