package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"locklab/systems/cache"
	"locklab/systems/cache/variants"
)

// Caches opens a cache variant by its name.
type Caches interface {
	Open(ctx context.Context, name string) (variants.Access, error)
}

type itemResponse struct {
	Instance string `json:"instance"`
	Cache    string `json:"cache"`
	cache.Item
	Loads int64 `json:"loads"` // database reads that this request caused
}

// getItem reads an item through a cache. The number of loads is in the body, and in a header, which a 404 has, too.
func (a *api) getItem(v variants.Variant) gin.HandlerFunc {
	return handleID(itemID, func(c *gin.Context, id uint64) error {
		ctx, loads := cache.CountLoads(c.Request.Context())
		access, err := a.Caches.Open(ctx, v.Name)
		if err != nil {
			return err
		}
		item, err := access.Get(ctx, id)
		c.Header("Locklab-Loads", fmt.Sprint(loads.Load()))
		if err != nil {
			return err
		}
		c.JSON(http.StatusOK, itemResponse{a.Instance, v.Name, item, loads.Load()})
		return nil
	})
}

// putItem inserts or updates an item in the database and updates the variant's cache.
func (a *api) putItem(v variants.Variant) gin.HandlerFunc {
	return handleID(itemID, func(c *gin.Context, id uint64) error {
		text, err := parseItemText(c.Request.Body)
		if err != nil {
			return err
		}
		access, err := a.Caches.Open(c.Request.Context(), v.Name)
		if err != nil {
			return err
		}
		item, err := access.Put(c.Request.Context(), id, text)
		if err != nil {
			return addAdvice(err, "the item may have been updated, and the cache may be stale: read the item, then repeat if needed")
		}
		c.JSON(http.StatusOK, itemResponse{a.Instance, v.Name, item, 0})
		return nil
	})
}

// parseItemText parses {"text": "…"} and rejects anything else.
func parseItemText(body io.Reader) (string, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return "", bodyError(err)
	}
	text, isString := onlyField(data, "text").(string)
	if !isString || !utf8.Valid(data) { // the decoder replaces invalid UTF-8 with U+FFFD
		return "", badRequest(`the body is not an item: send {"text": "…"} with at most %d bytes of UTF-8`, cache.MaxText)
	}
	return text, nil
}

// cacheVariants returns the cache variants that this instance serves.
func (a *api) cacheVariants() []variants.Variant {
	if a.Caches == nil {
		return nil
	}
	return variants.All()
}
