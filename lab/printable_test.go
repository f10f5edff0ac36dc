package lab

import "testing"

// Text from a file cannot steer a terminal. Its lines stay lines, or become parts of one.
func TestPrintable(t *testing.T) {
	const text = "one\x1b[2J\ttwo\nthree é"
	for what, c := range map[string]struct{ got, want string }{
		"one line of it":   {Printable(text), "one�[2J�two�three é"},
		"lines":            {PrintableLines(text), "one�[2J�two\nthree é"},
		"a line for lines": {OneLine(text), "one�[2J�two; three é"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", what, c.got, c.want)
		}
	}
}
