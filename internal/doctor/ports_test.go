package doctor

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// listen takes a port of this machine.
func listen(t *testing.T, address string) int {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func TestATakenPortNamesWhoHasIt(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", ":0"} {
		port := listen(t, address)
		m := answering(Lab{Ports: []Port{{"nginx", "127.0.0.1", port, "NGINX_PORT"}}}, nil)
		got := m.ports(t.Context())
		want(t, got, false, "nginx: taken by", "pid "+strconv.Itoa(os.Getpid()), "NGINX_PORT in .env")
		if got[0].Name != "port "+strconv.Itoa(port) {
			t.Errorf("the line is called %q", got[0].Name)
		}
	}
}

func TestAPortOfThisLabIsWell(t *testing.T) {
	port := listen(t, "127.0.0.1:0")
	lab := Lab{Project: "locklab", Ports: []Port{{"nginx", "127.0.0.1", port, ""}}}
	ps := "|127.0.0.1:" + strconv.Itoa(port) + "->8000/tcp"
	m := answering(lab, map[string]printed{"docker ps": {out: "locklab|locklab-nginx-1" + ps}})
	want(t, m.ports(t.Context()), true, "1 held by this lab, which is up")
	m = answering(lab, map[string]printed{"docker ps": {out: "shop|shop-web-1" + ps}})
	want(t, m.ports(t.Context()), false, "the container shop-web-1")
	m = answering(lab, map[string]printed{"docker ps": {out: "|web" + ps}})
	want(t, m.ports(t.Context()), false, "the container web")
}

func TestFreePortsAreOneLineAndProblemsOneEach(t *testing.T) {
	taken, free := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	m := answering(Lab{Ports: []Port{{"a", "127.0.0.1", taken, ""}, {"b", "127.0.0.1", free, ""}}}, nil)
	if got := m.ports(t.Context()); len(got) != 2 || got[0].OK || got[1].OK {
		t.Errorf("%+v", got)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	m.lab.Ports[1].Number = l.Addr().(*net.TCPAddr).Port
	if got := m.ports(t.Context()); len(got) != 2 || !got[0].OK || got[0].Found != "1 of 2 are free" || got[1].OK {
		t.Errorf("%+v", got)
	}
	m.lab.Ports = m.lab.Ports[1:]
	want(t, m.ports(t.Context()), true, "all 1 are free")
}

func TestRangesOfPortsAreRead(t *testing.T) {
	h := holders{lab: map[int]bool{}, containers: map[int]string{}}
	h.readContainers("locklab|redis|127.0.0.1:6401-6404->6401-6404/tcp, [::1]:7101->7101/tcp\nother|db|3306/tcp, 0.0.0.0:5432->5432/tcp\n", "locklab")
	for _, port := range []int{6401, 6402, 6404, 7101} {
		if !h.isLab(port) {
			t.Errorf("%d is not the lab's", port)
		}
	}
	if h.isLab(6405) || h.isLab(3306) || h.containers[5432] != "db" || len(h.containers) != 1 {
		t.Errorf("%+v", h)
	}
}

// A port that another user holds has no pid for this one; here a hidden one stands for it.
func TestAProcessThatIsHiddenIsSaidToBe(t *testing.T) {
	h := holders{ctx: t.Context(), processes: map[int]int32{80: 0}}
	if who := h.of(80); !strings.Contains(who, "another user's") {
		t.Error(who)
	}
}

func TestWithoutDockerThePortsAreCheckedAllTheSame(t *testing.T) {
	port := listen(t, "127.0.0.1:0")
	m := answering(Lab{Project: "locklab", Ports: []Port{{"nginx", "127.0.0.1", port, ""}}}, map[string]printed{"docker ps": {err: exec.ErrNotFound.Error()}})
	want(t, m.ports(t.Context()), false, "pid "+strconv.Itoa(os.Getpid()))
}

func TestProgramsThatHoldPortsForContainersAreKnown(t *testing.T) {
	for name, is := range map[string]bool{"docker-proxy": true, "com.docker.backend": true, "com.docker.backend.exe": true, "nginx": false, "": false} {
		if ofDocker(name) != is {
			t.Errorf("%q: %v", name, !is)
		}
	}
}
