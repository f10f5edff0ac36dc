package handlers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"locklab/systems/cache"
	"locklab/systems/cache/variants"
)

// Caches opens a cache variant by its name, and says why c6 does not use its cache; nil: it does.
type Caches interface {
	Open(ctx context.Context, name string) (variants.Access, error)
	Bypassed() error
}

type itemResponse struct {
	Instance string `json:"instance"`
	Cache    string `json:"cache"`
	cache.Item
	Loads int64 `json:"loads"` // database reads that this request caused
}

// getItem reads an item through a cache. The number of loads is in the body, and in a header, which a 404 has, too.
func (a *api) getItem(v variants.Variant) func(*gin.Context, pathID) error {
	return func(c *gin.Context, request pathID) error {
		ctx, loads := cache.CountLoads(c.Request.Context())
		access, err := a.Caches.Open(ctx, v.Name)
		if err != nil {
			return err
		}
		item, err := access.Get(ctx, uint64(request.ID))
		c.Header("Locklab-Loads", fmt.Sprint(loads.Load()))
		if err == nil {
			c.JSON(http.StatusOK, itemResponse{a.Instance, v.Name, item, loads.Load()})
		}
		return err
	}
}

// putItem inserts or updates an item in the database and updates the variant's cache.
func (a *api) putItem(v variants.Variant) func(*gin.Context, pathID) error {
	return func(c *gin.Context, request pathID) error {
		var body struct {
			Text *string `json:"text" binding:"required"`
		}
		if err := bindBody(c, &body, fmt.Sprintf(`{"text": "…"} with at most %d bytes`, cache.MaxText)); err != nil {
			return err
		}
		access, err := a.Caches.Open(c.Request.Context(), v.Name)
		if err != nil {
			return err
		}
		item, err := access.Put(c.Request.Context(), uint64(request.ID), *body.Text)
		if err == nil {
			c.JSON(http.StatusOK, itemResponse{a.Instance, v.Name, item, 0})
		}
		return err
	}
}

// cacheVariants returns the cache variants that this instance serves.
func (a *api) cacheVariants() []variants.Variant {
	if a.Caches == nil {
		return nil
	}
	return variants.All()
}
