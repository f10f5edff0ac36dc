// Package play writes the locks that a reader of the static site plays in the browser: the pages of the live page, and the lab as
// WebAssembly.
package play

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"locklab/lab/claims"
	"locklab/lab/live"
)

//go:embed play.js worker.js
var scripts embed.FS

// Write writes the pages below a folder: steps/, and what only they load in static/. The style and the script of all pages are those that
// [live.WriteStory] writes.
func Write(ctx context.Context, dir string) error {
	if err := live.WriteSteps(dir, claims.All()); err != nil {
		return err
	}
	static := filepath.Join(dir, "static")
	if err := os.MkdirAll(static, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"play.js", "worker.js"} {
		text, err := scripts.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(static, name), text, 0o644); err != nil {
			return err
		}
	}
	return build(ctx, static)
}

// build compiles the lab for a browser, with the Go tool that runs.
func build(ctx context.Context, static string) error {
	root, err := run(exec.CommandContext(ctx, "go", "env", "GOROOT"))
	if err != nil {
		return err
	}
	runtime, err := os.ReadFile(filepath.Join(strings.TrimSpace(root), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(static, "wasm_exec.js"), runtime, 0o644); err != nil {
		return err
	}
	compiled := filepath.Join(static, "play.wasm")
	compile := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", compiled, "locklab/tools/site/play/wasm")
	compile.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if _, err := run(compile); err != nil {
		return err
	}
	code, err := os.ReadFile(compiled)
	if err != nil {
		return err
	}
	var compressed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&compressed, gzip.BestCompression) // its only error is an unknown level
	if _, err := w.Write(code); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.Remove(compiled); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(static, "play.wasm.gzip"), compressed.Bytes(), 0o644)
}

func run(cmd *exec.Cmd) (output string, err error) {
	var wrong strings.Builder
	cmd.Stderr = &wrong
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, wrong.String())
	}
	return string(text), nil
}
