package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// ShutdownTimeout bounds the shutdown of an instance. Running requests may finish first. Those that do not are cancelled, so that they
// release their locks.
const (
	ShutdownTimeout = finishTimeout + cancelTimeout

	finishTimeout = 8 * time.Second
	cancelTimeout = 3 * time.Second
)

// Serve handles requests until ctx is done. Then it accepts no new ones, and finishes running ones within [ShutdownTimeout]. It returns an
// error only if the listener fails before ctx is done.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	requests, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10, // as in deploy/nginx.conf
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1) // http.ErrServerClosed after a shutdown
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}

	log.Info("locklab is shutting down: running requests may finish", "within", finishTimeout)
	err := shutdown(server, finishTimeout)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("requests are still running: cancelling them")
		cancel(errors.New("the instance is shutting down"))
		err = shutdown(server, cancelTimeout)
	}
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		log.Warn("HTTP server failed", "error", serveErr)
	}
	if err != nil {
		log.Warn("requests did not finish: closing their connections", "error", errors.Join(err, server.Close()))
	}
	return nil
}

func shutdown(server *http.Server, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return server.Shutdown(ctx)
}
