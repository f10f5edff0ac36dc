package lockstrategy

import (
	"sync"
	"time"
)

// settled is how old a tenure is before it is looked after: before it has timers, and listens for a forced
// unlock. A shorter one costs no timer and no subscription; what it has missed, it catches up on by asking.
const settled = 100 * time.Millisecond

// young are the tenures that have not settled. One timer serves them all: a timer for each, started and stopped a
// moment later, would wake a thread of the runtime each time, which costs more than a command to Redis.
type young struct {
	mu       sync.Mutex
	tenures  map[*tenure]struct{}
	sweeping bool // the timer runs
	idle     bool // nothing has come since it rang
}

func (y *young) add(t *tenure) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.tenures == nil {
		y.tenures = make(map[*tenure]struct{})
	}
	y.tenures[t], y.idle = struct{}{}, false
	if !y.sweeping {
		y.sweeping = true
		time.AfterFunc(settled, y.sweep)
	}
}

func (y *young) remove(t *tenure) {
	y.mu.Lock()
	defer y.mu.Unlock()
	delete(y.tenures, t)
}

// sweep settles those that are old enough. It rings again until there has been nothing for a whole round.
func (y *young) sweep() {
	var old []*tenure
	y.mu.Lock()
	for t := range y.tenures {
		if time.Since(t.began) >= settled {
			old = append(old, t)
			delete(y.tenures, t)
		}
	}
	if y.idle && len(y.tenures) == 0 {
		y.sweeping = false
	} else {
		y.idle = true
		time.AfterFunc(settled, y.sweep)
	}
	y.mu.Unlock()
	for _, t := range old {
		t.settle()
	}
}
