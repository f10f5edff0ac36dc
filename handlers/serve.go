package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// StopAtMost bounds the end of an instance: first requests may finish, then they are cancelled, which makes them release their locks.
const (
	StopAtMost = finish + abort

	finish = 8 * time.Second
	abort  = 3 * time.Second
)

// Serve answers requests until ctx ends, then accepts no more and finishes those that run, within [StopAtMost]. The error is the
// listener's: it ended before ctx.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return work },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10, // deploy/nginx.conf has the same bound
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1) // http.ErrServerClosed, unless it failed
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}

	log.Info("locklab stops: no new requests; those that run may finish", "within", finish)
	err := shutdown(server, finish)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("locklab cancels the requests that still run")
		cancel(errors.New("the instance stops"))
		err = shutdown(server, abort)
	}
	if ending := <-ended; !errors.Is(ending, http.ErrServerClosed) {
		log.Warn("locklab served badly", "error", ending)
	}
	if err != nil {
		log.Warn("locklab leaves requests unfinished", "error", errors.Join(err, server.Close()))
	}
	return nil
}

func shutdown(server *http.Server, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return server.Shutdown(ctx)
}
