// Command site writes the static site into a folder, for any web server and below any path.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"locklab/lab/claims"
	"locklab/lab/live"
	"locklab/lab/servers"
	"locklab/tools/site/play"
)

type options struct {
	root       string // of the repository
	out        string
	repository string // before the path of a source file, such as https://github.com/o/r/blob/main; empty: source files have no link
}

// parts write into the same folder, in this order.
var parts = []struct {
	name  string
	write func(context.Context, options) error
}{
	{"docs", writeDocs},
	{"story", func(_ context.Context, o options) error { return live.WriteStory(o.out, claims.All()) }},
	{"steps", func(ctx context.Context, o options) error { return play.Write(ctx, o.out) }},
}

func main() {
	servers.Reexec() // does not return in a process that a stack started from this program
	o := options{root: "."}
	flag.StringVar(&o.out, "out", "site", "the `folder` to write; what an earlier site left there is removed")
	flag.StringVar(&o.repository, "repository", "", "the `URL` of the source files, such as https://github.com/owner/name/blob/main")
	check := flag.Bool("check", false, "check the links of the site in the folder, and write nothing")
	recordFlag := flag.Bool("record", false, "run each scene of the story once, keep the runs in "+recordedRuns+", and write nothing else")
	listen := flag.String("listen", "", "serve the site on this `address` when it is written, such as 127.0.0.1:8060")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := write
	switch {
	case *check:
		do = func(context.Context, options) error { return checkLinks(o.out) }
	case *recordFlag:
		do = func(ctx context.Context, _ options) error { return record(ctx) }
	}
	err := do(ctx, o)
	if err == nil && *listen != "" {
		err = serve(ctx, o.out, *listen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// serve serves the files of a folder until ctx ends.
func serve(ctx context.Context, dir, address string) error {
	server := &http.Server{Addr: address, Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf("Open http://%s/ in a browser. Stop with Ctrl-C.\n", address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func write(ctx context.Context, o options) error {
	if err := clean(o.out); err != nil {
		return err
	}
	if err := put(filepath.Join(o.out, marker), nil); err != nil {
		return err
	}
	for _, part := range parts {
		if err := part.write(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// marker is a file that each site has from its beginning: a folder without it is somebody else's.
const marker = ".locklab-site"

// clean removes an earlier site, even one that was not finished. It refuses to remove anything else.
func clean(dir string) error {
	if dir == "" {
		return errors.New("name a folder with --out")
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s has files, and no earlier site: choose an empty folder", dir)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // the marker, and the .git of a branch that has only the site
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
