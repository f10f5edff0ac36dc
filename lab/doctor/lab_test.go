package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/lab/doctor"
	"locklab/lab/testenv"
	"locklab/lab/testenv/composefiles"
)

func TestReadLabHasEveryTopology(t *testing.T) {
	const dir = "../.."
	testenv.WithoutShell(t, dir)
	composefiles.Docker(t)
	t.Setenv("BACKENDS", "0")
	t.Setenv("LAB_NET", "198.51.100")
	lab := doctor.ReadLab(t.Context(), dir)
	if lab.Err != nil {
		t.Fatal(lab.Err)
	}
	if lab.Project != "locklab" || lab.Subnet != "198.51.100.0/24" {
		t.Errorf("%+v", lab)
	}
	services := map[string]bool{}
	for _, port := range lab.Ports {
		services[port.Service] = true
	}
	for _, service := range []string{"nginx", "app-1", "app-2", "mysql", "redlock-5", "redis-1", "cluster-6", "sentinel-3"} {
		if !services[service] {
			t.Errorf("no port of %s: %v", service, services)
		}
	}
	for name, want := range map[string]bool{
		"locklab:": true, "locklab-k6:": true, "locklab-jmeter:": true, "redis:": true, "zookeeper:": false,
	} {
		if slices.ContainsFunc(lab.Images, func(image string) bool { return strings.HasPrefix(image, name) }) != want {
			t.Errorf("%s is in %v: %v, want %v", name, lab.Images, !want, want) // BACKENDS=0: no service uses ZooKeeper's
		}
	}
}
