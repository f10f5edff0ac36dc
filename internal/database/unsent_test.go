package database

import (
	"net"
	"testing"

	"locklab/internal/tables"
)

// Without a connection nothing is sent, and the error says so. The server may refuse the connection as well.
func TestNothingIsSentWithoutAConnection(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	go func() {
		for conn, err := mute.Accept(); err == nil; conn, err = mute.Accept() {
			conn.Close()
		}
	}()
	for name, addr := range map[string]string{
		"no such host": "no..such.host:3306", "connection refused": "127.0.0.1:1", "no greeting": mute.Addr().String(),
	} {
		pool, err := openMySQL("lab@tcp(" + addr + ")/locklab")
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if _, err := pool.ExecContext(t.Context(), "SELECT 1"); !tables.NotExecuted(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
