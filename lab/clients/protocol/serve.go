package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Errors by which a lock answers.
var (
	ErrRefused = errors.New("another client holds it") // of an acquire: wrap it to name another reason
	ErrNotHeld = errors.New("it is not held")          // of a release or an extension
)

// Held is a grant.
type Held struct {
	Token   uint64
	Until   time.Duration               // the holder may rely on it so long from now; 0: the program does not say
	Release func(context.Context) error // wraps ErrNotHeld when the lock was not held
	Extend  func(context.Context) error // nil: the program does not claim it
	Lost    <-chan string               // delivers the reason once; nil: the program does not tell
}

// Lock acquires a key as the request says. It returns an error that wraps [ErrRefused] or the end of ctx when it is not granted. ctx ends
// after the wait of the request; of a request that does not wait it has no end.
type Lock func(ctx context.Context, r Request) (Held, error)

type server struct {
	mu   sync.Mutex // of out and held
	out  *json.Encoder
	held map[string]Held
	lock Lock
}

// Serve answers the lab until it sends stop or in ends. It fills in Protocol and PID of what the program claims. open connects to the
// servers of the start.
func Serve(in io.Reader, out io.Writer, claims Claims, open func(start Request) (Lock, error)) error {
	claims.Protocol, claims.PID = Version, os.Getpid()
	s := &server{out: json.NewEncoder(out), held: make(map[string]Held)}
	s.send(Answer{Type: Hello, Claims: &claims})
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		switch r.Type {
		case Stop:
			return nil
		case Start:
			var err error
			if s.lock, err = open(r); err != nil {
				s.send(Answer{Type: Error, Text: err.Error()})
				continue
			}
			s.send(Answer{Type: Ready, Key: claims.Key})
		case Acquire:
			go s.acquire(r)
		default:
			go s.change(r)
		}
	}
	return nil
}

func (s *server) send(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(a) // without the lab this program ends
}

func (s *server) acquire(r Request) {
	ctx := context.Background()
	if r.WaitMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Wait())
		defer cancel()
	}
	h, err := s.lock(ctx, r)
	switch {
	case err == nil:
	case errors.Is(err, ErrRefused), errors.Is(err, context.DeadlineExceeded):
		reason := err.Error()
		if !errors.Is(err, ErrRefused) {
			reason = "its wait has ended"
		}
		s.send(Answer{Type: Refused, ID: r.ID, Reason: reason})
		return
	default:
		s.send(Answer{Type: Error, ID: r.ID, Text: err.Error()})
		return
	}
	s.mu.Lock()
	s.held[r.ID] = h
	s.mu.Unlock()
	until := min(max(0, h.Until.Milliseconds()), longestUntil)
	s.send(Answer{Type: Granted, ID: r.ID, Token: h.Token, UntilMS: until})
	if h.Lost != nil {
		if reason, lost := <-h.Lost; lost {
			s.send(Answer{Type: Lost, ID: r.ID, Reason: reason})
		}
	}
}

// change releases or extends a grant.
func (s *server) change(r Request) {
	s.mu.Lock()
	h, known := s.held[r.ID]
	s.mu.Unlock()
	done, act := Released, h.Release
	if r.Type == Extend {
		done, act = Granted, h.Extend
	}
	err := ErrNotHeld
	if known && act != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = act(ctx)
	}
	if r.Type == Release && (err == nil || errors.Is(err, ErrNotHeld)) { // after another error the release may be repeated
		s.mu.Lock()
		delete(s.held, r.ID)
		s.mu.Unlock()
	}
	switch {
	case err == nil:
		answer := Answer{Type: done, ID: r.ID}
		if done == Granted {
			answer.Token = h.Token
		}
		s.send(answer)
	case errors.Is(err, ErrNotHeld):
		s.send(Answer{Type: NotHeld, ID: r.ID})
	default:
		s.send(Answer{Type: Error, ID: r.ID, Text: err.Error()})
	}
}
