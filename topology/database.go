package topology

import (
	"context"

	"locklab/internal/database"
)

// Database is a database that keeps locks.
type Database struct{ *database.Database }

// openDatabase opens the database at a URL, as [database.Open] takes it.
func openDatabase(ctx context.Context, url string) (Database, error) {
	db, err := database.Open(ctx, url)
	return Database{db}, err
}

// Backend is a *gorm.DB.
func (d Database) Backend() any { return d.DB }
