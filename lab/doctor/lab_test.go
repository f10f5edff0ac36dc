package doctor_test

import (
	"strings"
	"testing"

	"locklab/lab/doctor"
	"locklab/lab/testenv"
)

func TestReadLabHasEveryTopology(t *testing.T) {
	const dir = "../.."
	testenv.WithoutShell(t, dir)
	t.Setenv("BACKENDS", "0")
	t.Setenv("LAB_NET", "198.51.100")
	lab := doctor.ReadLab(t.Context(), dir)
	if lab.Err != nil {
		t.Fatal(lab.Err)
	}
	if lab.Project != "locklab" || lab.Network != "locklab_lab" || lab.Subnet != "198.51.100.0/24" {
		t.Errorf("%+v", lab)
	}
	services := map[string]bool{}
	for _, port := range lab.Ports {
		services[port.Service] = true
		if port.Variable == "" {
			t.Errorf("%+v: no variable", port)
		}
	}
	for _, service := range []string{"nginx", "app-1", "app-2", "mysql", "redlock-5", "redis-1", "cluster-6", "sentinel-3"} {
		if !services[service] {
			t.Errorf("no port of %s: %v", service, services)
		}
	}
	built, k6 := 0, false
	for _, image := range lab.Images {
		if image.Built {
			built++
		}
		k6 = k6 || strings.Contains(image.Name, "k6")
		if strings.Contains(image.Name, "zookeeper") {
			t.Errorf("it has %s, which no service uses", image.Name)
		}
	}
	if built != 3 || !k6 {
		t.Errorf("%d images are built, want 3; k6 of the profile load: %v; all: %+v", built, k6, lab.Images)
	}
}
