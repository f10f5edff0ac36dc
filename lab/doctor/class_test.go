package doctor

import (
	"net"
	"testing"
)

// A class is told the addresses for its phones, and a port that is taken. Without redis-server it goes on, with less.
func TestWhatAClassNeeds(t *testing.T) {
	want(t, judgeAddresses([]string{"192.168.1.20", "10.0.0.7"}, 8070), true,
		"http://192.168.1.20:8070/ui/join", "http://10.0.0.7:8070/ui/join")
	want(t, judgeAddresses(nil, 8070), false, "hotspot")
	want(t, answering(Lab{}, nil).redisOfClass(t.Context()), true, "scene 6")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	want(t, freePort(t.Context(), port), false, "taken by", "--listen")
	listener.Close()
	want(t, freePort(t.Context(), port), true, "free")
}
