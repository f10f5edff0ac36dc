package lockstrategy

import "time"

// queue is the line of those who wait for one key in one process, in the order of their arrival. Each step
// takes the same time however long it is.
type queue struct {
	first, last *waiter
	len         int
}

// waiter stands in a queue.
type waiter struct {
	called     chan struct{} // receives once, when turn is set
	turn       turn
	ownTerms   bool // takes no lease that was granted to somebody else
	prev, next *waiter
}

// turn is why a waiter is called: it is the next.
type turn struct {
	tenure *tenure       // handed off; nil: ask the backend
	wait   time.Duration // as in Ask.Defer
	err    error         // it is not: the wait has ended
}

// call tells w, which has been taken out of the queue, why.
func (w *waiter) call(t turn) {
	w.turn = t
	w.called <- struct{}{}
}

func (q *queue) push(w *waiter) {
	w.prev = q.last
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.len++
}

// pop takes the first one out; nil: nobody waits.
func (q *queue) pop() *waiter {
	w := q.first
	if w != nil {
		q.remove(w)
	}
	return w
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	q.len--
}
