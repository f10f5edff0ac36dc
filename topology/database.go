package topology

import (
	"context"

	"locklab/order"
)

// Database is the database of the orders. It keeps locks, too.
type Database struct{ *order.Store }

// openDatabase opens the database at a URL, as [order.Config] has it.
func openDatabase(ctx context.Context, url string) (Database, error) {
	store, err := order.OpenStore(ctx, order.Config{Database: url})
	return Database{store}, err
}

// Backend is a *gorm.DB.
func (d Database) Backend() any { return d.DB() }
