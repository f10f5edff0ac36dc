package doctor

import (
	"net"
	"os"
	"strconv"
	"testing"

	netstat "github.com/shirou/gopsutil/v4/net"

	"locklab/lab/testenv"
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

func TestATakenPortNamesItsProcess(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", ":0"} {
		port := listen(t, address)
		lab := Lab{Ports: []Port{{"nginx", port}}}
		for _, answers := range []map[string]string{nil, {"docker ps": ""}} { // without and with docker
			got := answering(lab, answers).ports(t.Context())
			want(t, got, false, "nginx: taken by", "pid "+strconv.Itoa(os.Getpid()), "stop it", "in .env")
			if got[0].Name != "port "+strconv.Itoa(port) {
				t.Errorf("the line is called %q", got[0].Name)
			}
		}
		want(t, answering(lab, nil).ports(t.Context()), false, "see the line docker")
	}
}

func TestAPortOfThisLabIsNoProblem(t *testing.T) {
	port := listen(t, "127.0.0.1:0")
	lab := Lab{Project: "locklab", Ports: []Port{{"nginx", port}}}
	ps := "|127.0.0.1:" + strconv.Itoa(port) + "->8000/tcp"
	m := answering(lab, map[string]string{"docker ps": "locklab|locklab-nginx-1" + ps})
	want(t, m.ports(t.Context()), true, "1 used by this lab, which is up")
	m = answering(lab, map[string]string{"docker ps": "shop|shop-web-1" + ps})
	want(t, m.ports(t.Context()), false, "the container shop-web-1")
	m = answering(lab, map[string]string{"docker ps": "|web" + ps})
	want(t, m.ports(t.Context()), false, "the container web")
}

func TestFreePortsAreOneLineAndProblemsOneEach(t *testing.T) {
	_, text, _ := net.SplitHostPort(testenv.FreeAddr(t))
	free, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	one, two := Port{"a", listen(t, "127.0.0.1:0")}, Port{"b", listen(t, "127.0.0.1:0")}
	m := answering(Lab{Ports: []Port{one, two}}, nil)
	if got := m.ports(t.Context()); len(got) != 2 || got[0].OK || got[1].OK {
		t.Errorf("%+v", got)
	}
	m.lab.Ports = []Port{one, {"c", free}, two}
	if got := m.ports(t.Context()); len(got) != 3 || !got[0].OK || got[0].Found != "1 of 3 are free" || got[1].OK || got[2].OK {
		t.Errorf("%+v", got)
	}
}

func TestRangesOfPortsAreRead(t *testing.T) {
	const ps = "locklab|redis|127.0.0.1:6401-6404->6401-6404/tcp, [::1]:7101->7101/tcp\nother|db|3306/tcp, 0.0.0.0:5432->5432/tcp\n"
	got, err := answering(Lab{Project: "locklab"}, map[string]string{"docker ps": ps}).containers(t.Context())
	for _, port := range []int{6401, 6402, 6403, 6404, 7101} {
		if got[port] != thisLab {
			t.Errorf("%d is not the lab's", port)
		}
	}
	if err != nil || got[5432] != "the container db" || len(got) != 6 {
		t.Errorf("%v, %v", got, err)
	}
}

// This process does not see the pid of another user's.
func TestAHiddenProcessIsNamedAsSuch(t *testing.T) {
	hidden := []netstat.ConnectionStat{{Status: "LISTEN", Laddr: netstat.Addr{Port: 80}}}
	if user := processOn(t.Context(), 80, hidden); user != "a process of another user" {
		t.Error(user)
	}
}
