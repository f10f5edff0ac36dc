package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"locklab/handlers"
	"locklab/systems/cache"
	"locklab/systems/cache/variants"
)

// fakeCaches keeps items in memory, the same ones for every variant.
type fakeCaches struct {
	mutex
	items   map[uint64]cache.Item
	err     error // returned by Get and Put, if set
	openErr error // returned by Open, if set

	bypassed error
}

func (c *fakeCaches) Open(context.Context, string) (variants.Access, error) {
	return variants.Access{Reader: c, Writer: c}, c.openErr
}

func (c *fakeCaches) Bypassed() error { return c.bypassed }

func (c *fakeCaches) Get(_ context.Context, id uint64) (cache.Item, error) {
	defer c.lock()()
	item, found := c.items[id]
	if !found && c.err == nil {
		return item, fmt.Errorf("%w: %d", cache.ErrNotFound, id)
	}
	return item, c.err
}

func (c *fakeCaches) Put(_ context.Context, id uint64, text string) (cache.Item, error) {
	defer c.lock()()
	if len(text) > cache.MaxText {
		return cache.Item{}, cache.ErrInvalid
	}
	item := cache.Item{ID: id, Text: text, Version: c.items[id].Version + 1}
	c.items[id] = item
	return item, c.err
}

func withCaches(t *testing.T) (*instance, *fakeCaches) {
	c := &fakeCaches{items: make(map[uint64]cache.Item)}
	return serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Caches = c }), c
}

func TestItems(t *testing.T) {
	s, c := withCaches(t)
	for _, v := range variants.All() {
		path := "/" + v.Name + "/items/7"
		want := map[string]any{"instance": "8080", "cache": v.Name, "id": 7.0, "text": "seven", "version": 1.0, "loads": 0.0}
		c.items = make(map[uint64]cache.Item)
		s.get(path).wantError(t, http.StatusNotFound, "not found: 7")
		s.do(http.MethodPut, path, `{"text": "seven"}`).wantJSON(t, http.StatusOK, want)
		s.get(path).wantJSON(t, http.StatusOK, want)
		if got := s.get(path).header.Get("Locklab-Loads"); got != "0" {
			t.Errorf("Locklab-Loads is %q", got)
		}
	}
	s.get("/c99/items/7").wantError(t, http.StatusNotFound, "nothing here")
	serve(t).get("/c0/items/7").wantError(t, http.StatusNotFound, "nothing here")
}

func TestItemErrors(t *testing.T) {
	s, c := withCaches(t)
	for _, id := range []string{"-1", "0", "x", "2147483648", strings.Repeat("9", 5000)} {
		s.get("/c0/items/"+id).wantError(t, http.StatusBadRequest, "id is")
		s.do(http.MethodPut, "/c0/items/"+id, `{"text": "x"}`).wantError(t, http.StatusBadRequest, "id is")
	}
	for _, body := range []string{
		"", `{}`, `{"text": 7}`, `{"text": null}`, `{"text": "a", "id": 8}`, "{\"text\": \"a\xff\"}", // not UTF-8
	} {
		s.do(http.MethodPut, "/c0/items/7", body).wantError(t, http.StatusBadRequest, `{"text"`)
	}
	s.do(http.MethodPut, "/c0/items/7", `{"text": "`+strings.Repeat("x", cache.MaxText+1)+`"}`).wantError(t, http.StatusBadRequest)
	if len(c.items) > 0 {
		t.Errorf("a rejected request stored %v", c.items)
	}
	c.err = cache.ErrUnavailable
	s.get("/c0/items/7").wantError(t, http.StatusServiceUnavailable)
	s.do(http.MethodPut, "/c0/items/7", `{"text": "x"}`).wantError(t, http.StatusServiceUnavailable, "may have been updated")
	c.err, c.openErr = nil, variants.ErrAbsent
	s.get("/c6/items/7").wantError(t, http.StatusNotFound, "no such variant here")
	s.do(http.MethodPut, "/c6/items/7", `{"text": "x"}`).wantError(t, http.StatusNotFound, "no such variant here")
}
