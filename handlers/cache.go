package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"locklab/cache"
	"locklab/cache/variants"
)

// Caches opens the ways to read and write items.
type Caches interface {
	Open(ctx context.Context, name string) (variants.Access, error)
}

type itemAnswer struct {
	Instance string `json:"instance"`
	Cache    string `json:"cache"`
	cache.Item
	Loads int64 `json:"loads"` // that reached the database for this request
}

// getItem reads an item through a cache. The number of loads is in the answer, and in a header for an item that does not exist.
func (a *api) getItem(v variants.Variant) gin.HandlerFunc {
	return identified("the item's id", func(c *gin.Context, id uint64) error {
		ctx, loads := cache.CountLoads(c.Request.Context())
		open, err := a.Caches.Open(ctx, v.Name)
		if err != nil {
			return err
		}
		item, err := open.Get(ctx, id)
		c.Header("Locklab-Loads", fmt.Sprint(loads.Load()))
		if err != nil {
			return err
		}
		c.JSON(http.StatusOK, itemAnswer{a.Instance, v.Name, item, loads.Load()})
		return nil
	})
}

// putItem inserts or updates an item, and makes the variant's cache follow.
func (a *api) putItem(v variants.Variant) gin.HandlerFunc {
	return identified("the item's id", func(c *gin.Context, id uint64) error {
		text, err := textOf(c.Request.Body)
		if err != nil {
			return err
		}
		open, err := a.Caches.Open(c.Request.Context(), v.Name)
		if err != nil {
			return err
		}
		item, err := open.Put(c.Request.Context(), id, text)
		if err != nil {
			return maybe(err, "the item may have been updated, and the cache may be old: read it, then repeat")
		}
		c.JSON(http.StatusOK, itemAnswer{a.Instance, v.Name, item, 0})
		return nil
	})
}

// textOf parses {"text": "…"}, and accepts nothing else.
func textOf(body io.Reader) (string, error) {
	sent, err := io.ReadAll(body)
	if err != nil {
		return "", unread(err)
	}
	text, is := onlyField(sent, "text").(string)
	if !is || !utf8.Valid(sent) { // the decoder puts U+FFFD in place of what is no UTF-8
		return "", badRequest(`the body is no item: send {"text": "…"} with at most %d bytes of UTF-8`, cache.MaxText)
	}
	return text, nil
}

// caches are the variants that this instance answers for.
func (a *api) caches() []variants.Variant {
	if a.Caches == nil {
		return nil
	}
	return variants.All()
}
