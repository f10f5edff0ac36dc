package interop_test

import (
	"context"
	"testing"
)

func (b *bench) seen(ctx context.Context, t *testing.T)  {}
func (b *bench) waits(ctx context.Context, t *testing.T) {}
