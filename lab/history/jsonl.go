package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// longest is how long a line may be.
const longest = 1 << 20

// Encode writes events, one JSON object in each line.
func Encode(w io.Writer, events ...Event) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, e := range events {
		if err := encoder.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads what [Encode] wrote. With an error it returns the events before the damage. Damage is a line that is no event,
// that does not continue the numbers, or that ends in the middle.
func Decode(r io.Reader) (events []Event, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), longest)
	for lines.Scan() {
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		var e Event
		if err := decoder.Decode(&e); err != nil {
			return events, fmt.Errorf("line %d is no event: %w", len(events)+1, err)
		}
		if _, err := decoder.Token(); err != io.EOF { // More would not see a bracket that closes nothing
			return events, fmt.Errorf("line %d goes on after its event", len(events)+1)
		}
		if e.Seq != len(events)+1 {
			return events, fmt.Errorf("line %d has the event number %d", len(events)+1, e.Seq)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		return events, fmt.Errorf("after line %d: %w", len(events), err)
	}
	return events, nil
}
