package kubernetes_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// classroom is a copy of deploy, in which a class can be written.
func classroom(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deploy")
	for _, folder := range []string{"nginx", "mysql", "zookeeper", "redis-topologies", "kubernetes"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS("../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(dir, "kubernetes")
	if err := os.RemoveAll(filepath.Join(dir, "class")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// participants runs the script, and returns what it prints, and what it says beside that.
func participants(t *testing.T, dir string, args ...string) (printed, said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "participants"), args...)
	var out, beside strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &beside
	err = cmd.Run()
	return out.String(), beside.String(), err
}

// labs renders what the class has written, by namespace.
func labs(t *testing.T, dir string) map[string]rendered {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, "class"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]rendered{}
	for _, object := range objects.Resources() {
		text, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		name := object.GetNamespace()
		if object.GetKind() == "Namespace" {
			name = object.GetName()
		}
		r, known := all[name]
		if !known {
			r = newRendered()
		}
		if err := r.add(object.GetKind(), text); err != nil {
			t.Errorf("%s: %s %s: %v", name, object.GetKind(), object.GetName(), err)
		}
		all[name] = r
	}
	return all
}

// Each participant has the lab of compose in a namespace of its own, with an address and a token that no other lab has.
func TestEachParticipantHasALab(t *testing.T) {
	dirs, _ := filepath.Glob("overlays/*")
	for _, overlay := range dirs {
		t.Run(filepath.Base(overlay), func(t *testing.T) {
			dir := classroom(t)
			printed, said, err := participants(t, dir, "2", "node.example", filepath.Base(overlay))
			if err != nil {
				t.Fatal(err, said)
			}
			all, alone := labs(t, dir), render(t, overlay)
			if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, []string{"locklab-0", "locklab-1", "locklab-2"}) {
				t.Fatalf("the namespaces are %q", got)
			}
			tokens := map[string]bool{}
			for name, lab := range all {
				if len(lab.workloads) != len(alone.workloads) || len(lab.services) != len(alone.services) {
					t.Errorf("%s has %d workloads and %d Services, and a lab alone %d and %d",
						name, len(lab.workloads), len(lab.services), len(alone.workloads), len(alone.services))
				}
				token := led(t, name, lab, printed)
				if tokens[token] || len(token) < 16 {
					t.Errorf("%s has the token %q", name, token)
				}
				tokens[token] = true
				fits(t, name, lab)
			}
		})
	}
}

// led checks the address of a lab and its live page, and returns the token.
func led(t *testing.T, name string, lab rendered, printed string) (token string) {
	t.Helper()
	port := "3000" + strings.TrimPrefix(name, "locklab-")
	nginx := lab.services["nginx"].Spec
	if nginx.Type != core.ServiceTypeNodePort || len(nginx.Ports) != 1 || fmt.Sprint(nginx.Ports[0].NodePort) != port {
		t.Errorf("the Service nginx of %s is %+v", name, nginx)
	}
	for _, w := range lab.workloads {
		if probe := w.container.ReadinessProbe; w.kind == "StatefulSet" && (probe == nil || probe.PeriodSeconds != 20) {
			t.Errorf("%s of %s is checked each %+v", w.name, name, probe)
		}
		if w.name != "page" {
			continue
		}
		environment := lab.environment(t, w)
		token = environment["LAB_TRAINER_TOKEN"]
		if environment["LAB_ADDRESS"] != "node.example:"+port || !slices.Contains(w.container.Args, "--class") {
			t.Errorf("the page of %s is a class at %q: %q", name, environment["LAB_ADDRESS"], w.container.Args)
		}
	}
	if !strings.Contains(printed, "http://node.example:"+port+" ") || !strings.Contains(printed, token) {
		t.Errorf("the address or the token of %s was not printed: %s", name, printed)
	}
	if policy := lab.policies["address"].Spec; len(policy.Ingress) != 1 || policy.PodSelector.MatchLabels["app.kubernetes.io/name"] != "nginx" {
		t.Errorf("the policy for the address of %s is %+v", name, policy)
	}
	return token
}

// fits checks that the quota has space for the lab, both load jobs and one instance more, and none for as much again. Without the jobs it
// has none for eight instances.
func fits(t *testing.T, name string, lab rendered) {
	t.Helper()
	instance := slices.IndexFunc(lab.workloads, func(w workload) bool { return strings.HasPrefix(w.name, "app-") })
	pods := slices.Concat(lab.workloads, render(t, "load/burst").workloads, render(t, "load/k6").workloads, lab.workloads[instance:instance+1])
	var processor, requested, limit resource.Quantity
	for _, w := range pods {
		processor.Add(*w.container.Resources.Requests.Cpu())
		requested.Add(*w.container.Resources.Requests.Memory())
		limit.Add(*w.container.Resources.Limits.Memory())
	}
	needs := core.ResourceList{
		"requests.cpu": processor, "requests.memory": requested, "limits.memory": limit, "pods": *resource.NewQuantity(int64(len(pods)), ""),
	}
	if len(lab.quotas) != 1 {
		t.Fatalf("%s has %d quotas", name, len(lab.quotas))
	}
	for what, need := range needs {
		bound, twice := lab.quotas[0].Spec.Hard[what], need.DeepCopy()
		twice.Add(need)
		if bound.Cmp(need) < 0 || bound.Cmp(twice) > 0 {
			t.Errorf("%s needs %s of %s, and the quota is %s", name, need.String(), what, bound.String())
		}
	}
	var eight resource.Quantity
	for _, w := range slices.Concat(lab.workloads, slices.Repeat(lab.workloads[instance:instance+1], 8-2)) {
		eight.Add(*w.container.Resources.Requests.Cpu())
	}
	if bound := lab.quotas[0].Spec.Hard["requests.cpu"]; bound.Cmp(eight) >= 0 {
		t.Errorf("%s may have eight instances: they request %s of %s", name, eight.String(), bound.String())
	}
}

// A class that grows keeps the tokens that participants were given. Only the user that wrote them may read them.
func TestALabKeepsItsToken(t *testing.T) {
	dir := classroom(t)
	first, _, err := participants(t, dir, "2", "10.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := participants(t, dir, "3", "10.0.0.1")
	if err != nil || !strings.HasPrefix(again, first) || strings.Count(again, "\n") != strings.Count(first, "\n")+1 {
		t.Errorf("%v: first %s, then %s", err, first, again)
	}
	table := filepath.Join(dir, "class", "addresses.txt")
	kept, err := os.ReadFile(table)
	if err != nil || string(kept) != again {
		t.Errorf("the table is %q (%v), and %q was printed", kept, err, again)
	}
	if err := os.Chmod(table, 0o644); err != nil { // as an older class could be
		t.Fatal(err)
	}
	if _, _, err := participants(t, dir, "3", "10.0.0.1"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{table, filepath.Join(dir, "class", "locklab-1", "kustomization.yaml")} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %v, %v", file, info.Mode(), err)
		}
	}
}

// Whatever is wrong is said, with what to type, and a class that is there stays as it is.
func TestAClassIsRefused(t *testing.T) {
	dir := classroom(t)
	before, _, err := participants(t, dir, "1", "10.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{},
		{"0", "host"},
		{"100", "host"},
		{"07", "host"},
		{"3"},
		{"3", ""},
		{"3", "a b"},
		{"3", "host:80"},
		{"3", "host", "nope"},
		{"3", "host", "../overlays/single"},
		{"3", "host", "single", "more"},
	} {
		_, said, err := participants(t, dir, args...)
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != 64 || !strings.Contains(said, "make class N=25 HOST=") {
			t.Errorf("%q: %v, %q", args, err, said)
		}
		if now, err := os.ReadFile(filepath.Join(dir, "class", "addresses.txt")); err != nil || string(now) != before {
			t.Errorf("%q changed the class to %q (%v)", args, now, err)
		}
	}
	var list struct{ Resources []string }
	text, err := os.ReadFile(filepath.Join(dir, "class", "kustomization.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &list)
	}
	if err != nil || len(list.Resources) != 2 {
		t.Errorf("the class has %q (%v)", list.Resources, err)
	}
}

// kubectl apply removes nothing. So a class that becomes smaller, or has another topology, says what to remove.
func TestWhatAClassLeavesIsNamed(t *testing.T) {
	dir := classroom(t)
	for _, c := range []struct {
		args []string
		says string // beside how to start and to remove the class
	}{
		{[]string{"3", "host"}, ""},
		{[]string{"1", "host"}, "kubectl delete namespace locklab-2 locklab-3\n"},
		{[]string{"3", "host", "sentinel"}, "had the topology single."},
		{[]string{"3", "host", "sentinel"}, ""},
	} {
		_, said, err := participants(t, dir, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		_, more, _ := strings.Cut(said, "-l locklab/class\n")
		if !strings.Contains(more, c.says) || c.says == "" && more != "" {
			t.Errorf("%q says %q, want %q", c.args, more, c.says)
		}
	}
}
