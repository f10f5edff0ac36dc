package leaks

import (
	"testing"
	"time"
)

// A goroutine that ends late is no leak, and one that does not end is one.
func TestFind(t *testing.T) {
	ends, late := make(chan struct{}), make(chan struct{})
	go func() { <-ends; close(late) }()
	if Find(0) == nil {
		t.Error("a goroutine that is left is not found")
	}
	go func() { // longer than goleak asks
		time.Sleep(time.Second)
		close(ends)
	}()
	if err := Find(time.Minute); err != nil {
		t.Errorf("a goroutine that ends late is a leak: %v", err)
	}
	<-late
}
