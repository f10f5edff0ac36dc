package main

import (
	"strings"
	"testing"
)

const printed = `
level=info msg="r1: the supplier allows 2000 calls. It has seen 14000 calls, at most 12001 in one window: 10001 over the limit."
    lab_allowed.......................: 14000  199.98/s
    lab_failed........................: 0      0/s
    lab_over..........................: 10001  min=10001    max=10001
    lab_refused.......................: 1      7.93/s
    lab_refused_without_retry_after...: 0      0/s
    lab_time..........................: min=895.9µs  med=1.59ms p(99)=124.95ms max=151.89ms
`

// A row is what both have counted. A run in which they differ, or in which requests failed, shows nothing.
func TestRow(t *testing.T) {
	row, err := rowOf("r1", printed)
	if want := "| r1 | 14001 | 14000 | 1 | 12001 | 10001 | 1.59ms, 124.95ms |\n"; row != want || err != nil {
		t.Errorf("%q, %v; want %q", row, err, want)
	}
	for name, changed := range map[string]string{
		"failed":  strings.Replace(printed, "lab_failed........................: 0", "lab_failed........................: 3", 1),
		"differ":  strings.Replace(printed, "It has seen 14000", "It has seen 13999", 1),
		"no line": strings.Replace(printed, "It has seen", "It saw", 1),
		"nothing": "",
	} {
		if row, err := rowOf("r1", changed); err == nil {
			t.Errorf("%s: %q", name, row)
		}
	}
}
