package doctor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// withNetworks prints networks as a real one does, one a line.
func withNetworks(lines ...string) map[string]printed {
	return map[string]printed{"docker network ls": {out: "1\n2"}, "docker network inspect": {out: strings.Join(lines, "\n")}}
}

func TestASubnetOfAnotherNetworkIsAProblem(t *testing.T) {
	other := `{"Name":"shop_default","IPAM":{"Config":[{"Subnet":"198.51.100.0/20"}]}}`
	lab := Lab{Network: "locklab_lab", Subnet: "198.51.100.0/24"} // for examples (RFC 5737): nobody has it
	m := answering(lab, withNetworks(`{"Name":"host","IPAM":{"Config":null}}`, other))
	want(t, m.subnet(t.Context()), false, "shop_default (198.51.100.0/20)", "set LAB_NET=")
	own := `{"Name":"locklab_lab","IPAM":{"Config":[{"Subnet":"198.51.100.0/24"}]}}`
	m = answering(lab, withNetworks(own))
	want(t, m.subnet(t.Context()), true, "this lab's")
	m = answering(lab, nil)
	want(t, m.subnet(t.Context()), true, "free", "could not be asked")
	m.lab.Subnet = ".0/24"
	want(t, m.subnet(t.Context()), false, "LAB_NET")
}

func TestASubnetOfAnInterfaceIsAProblem(t *testing.T) {
	m := answering(Lab{Network: "locklab_lab", Subnet: "127.0.0.0/24"}, nil) // every machine has that one
	want(t, m.subnet(t.Context()), false, "the interface lo", "127.0.0.0/8")
	ours := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	if list := interfaces(ours); slices.ContainsFunc(list, func(u user) bool { return u.prefix.Addr().IsLoopback() && u.prefix.Addr().Is4() }) {
		t.Errorf("the lab's own network counts: %v", list)
	}
}

func TestARouteIsFoundByTheAddressThatIsSpokenFrom(t *testing.T) {
	if from := speaksFrom("127.0.0.9"); !from.IsLoopback() {
		t.Errorf("to itself this machine speaks from %s", from)
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	if from := speaksFrom("192.0.2.1"); from.IsValid() && !slices.ContainsFunc(list, func(a net.Addr) bool { return strings.HasPrefix(a.String(), from.String()+"/") }) {
		t.Errorf("%s is no address of this machine", from)
	}
}

func TestMissingImagesNeedARegistry(t *testing.T) {
	hub := Image{Name: "redis:7"}
	if got := registries([]Image{hub, {Name: "grafana/k6:1"}, {Name: "locklab:dev", Built: true}, {Name: "docker.io/x/y"}}); !slices.Equal(got, []string{dockerHub}) {
		t.Error(got)
	}
	if got := registries([]Image{hub, {Name: "quay.io/x/y:1"}, {Name: "localhost:5000/z"}}); len(got) != 3 {
		t.Error(got)
	}
	gone := printed{err: "Error response from daemon: No such image: it"}
	m := answering(Lab{Images: []Image{{Name: "localhost:1/x:2"}}}, map[string]printed{"docker image": gone}) // nobody listens on port 1
	want(t, m.images(t.Context()), false, "1 of 1 are missing (localhost:1/x:2)", "cannot be reached", "deploy/offline/usb load FILE")
	m = answering(Lab{Images: []Image{hub}}, map[string]printed{"docker image": {out: "sha256:1"}})
	want(t, m.images(t.Context()), true, "all 1 are here, or can be built")
	m = answering(Lab{Images: []Image{hub}}, map[string]printed{"docker image": {err: "Cannot connect to the Docker daemon"}})
	want(t, m.images(t.Context()), false, "not known", "see the line docker")
}

func TestARegistryThatAsksWhoWeAreIsReached(t *testing.T) {
	status := http.StatusUnauthorized
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	if err := reach(t.Context(), server.URL+"/v2/"); err != nil {
		t.Error(err)
	}
	status = http.StatusForbidden // a portal of a hotel, or a proxy
	if err := reach(t.Context(), server.URL+"/v2/"); err == nil || !strings.Contains(err.Error(), "403") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := reach(ctx, server.URL); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
