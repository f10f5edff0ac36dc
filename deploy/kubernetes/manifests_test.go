// Package kubernetes_test checks the manifests without a cluster: a module of its own, so that the lab's has none of these libraries.
package kubernetes_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	k6 "github.com/grafana/k6-operator/api/v1alpha1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"locklab/lab/testenv/composefiles"
)

// workload is what starts pods, or one pod of a StatefulSet of several.
type workload struct {
	name      string // of the service of compose, where there is one
	kind      string
	template  core.PodTemplateSpec
	container core.Container
	number    int // of the pod; 0: it has none
}

// rendered are the objects of one kustomization.
type rendered struct {
	workloads []workload
	services  map[string]core.Service
	secrets   map[string]core.Secret
	configs   map[string]core.ConfigMap
	policies  map[string]networking.NetworkPolicy
	quotas    []core.ResourceQuota
	budgets   []policy.PodDisruptionBudget
	runs      []k6.TestRun
}

func newRendered() rendered {
	return rendered{
		services: map[string]core.Service{}, secrets: map[string]core.Secret{}, configs: map[string]core.ConfigMap{},
		policies: map[string]networking.NetworkPolicy{},
	}
}

// render decodes every object of a kustomization into its type. An unknown field is an error.
func render(t *testing.T, path string) rendered {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	if err != nil {
		t.Fatalf("kustomize %s: %v", path, err)
	}
	r := newRendered()
	for _, object := range objects.Resources() {
		text, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.add(object.GetKind(), text); err != nil {
			t.Errorf("%s: %s %s: %v", path, object.GetKind(), object.GetName(), err)
		}
	}
	return r
}

func (r *rendered) add(kind string, text []byte) error {
	switch kind {
	case "StatefulSet":
		var s apps.StatefulSet
		err := yaml.UnmarshalStrict(text, &s)
		if err == nil {
			r.pods(s)
		}
		return err
	case "Deployment":
		var d apps.Deployment
		err := yaml.UnmarshalStrict(text, &d)
		return r.workload(err, kind, d.Name, d.Spec.Template, 0)
	case "Job":
		var j batch.Job
		err := yaml.UnmarshalStrict(text, &j)
		return r.workload(err, kind, j.Name, j.Spec.Template, 0)
	case "Service":
		var s core.Service
		err := yaml.UnmarshalStrict(text, &s)
		r.services[s.Name] = s
		return err
	case "Secret":
		var s core.Secret
		err := yaml.UnmarshalStrict(text, &s)
		r.secrets[s.Name] = s
		return err
	case "ConfigMap":
		var c core.ConfigMap
		err := yaml.UnmarshalStrict(text, &c)
		r.configs[c.Name] = c
		return err
	case "PodDisruptionBudget":
		r.budgets = append(r.budgets, policy.PodDisruptionBudget{})
		return yaml.UnmarshalStrict(text, &r.budgets[len(r.budgets)-1])
	case "NetworkPolicy":
		var n networking.NetworkPolicy
		err := yaml.UnmarshalStrict(text, &n)
		r.policies[n.Name] = n
		return err
	case "Namespace":
		return yaml.UnmarshalStrict(text, new(core.Namespace))
	case "ResourceQuota":
		r.quotas = append(r.quotas, core.ResourceQuota{})
		return yaml.UnmarshalStrict(text, &r.quotas[len(r.quotas)-1])
	case "TestRun":
		r.runs = append(r.runs, k6.TestRun{})
		return yaml.UnmarshalStrict(text, &r.runs[len(r.runs)-1])
	}
	return fmt.Errorf("no type is known")
}

// pods adds each pod of a StatefulSet under the name that its Service has.
func (r *rendered) pods(s apps.StatefulSet) {
	if s.Spec.Ordinals == nil {
		_ = r.workload(nil, "StatefulSet", s.Name, s.Spec.Template, 0)
		return
	}
	for i := range int(*s.Spec.Replicas) {
		number := i + int(s.Spec.Ordinals.Start)
		_ = r.workload(nil, "StatefulSet", fmt.Sprintf("%s-%d", s.Name, number), s.Spec.Template, number)
	}
}

func (r *rendered) workload(err error, kind, name string, template core.PodTemplateSpec, number int) error {
	if err == nil && len(template.Spec.Containers) != 1 {
		return fmt.Errorf("it has %d containers", len(template.Spec.Containers))
	}
	if err == nil {
		r.workloads = append(r.workloads, workload{name, kind, template, template.Spec.Containers[0], number})
	}
	return err
}

// environment are the variables of a pod, as the kubelet would set them.
func (r *rendered) environment(t *testing.T, w workload) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range w.container.Env {
		value := e.Value
		if value != "" && e.ValueFrom != nil {
			t.Errorf("%s: %s has a value, and another from elsewhere: the API server refuses that", w.name, e.Name)
		}
		switch from := e.ValueFrom; {
		case from == nil:
		case from.SecretKeyRef != nil:
			data, found := r.secrets[from.SecretKeyRef.Name].Data[from.SecretKeyRef.Key]
			if !found {
				t.Errorf("%s: %s comes from %s of the secret %s, which is not there", w.name, e.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Name)
			}
			value = string(data)
		case strings.Contains(from.FieldRef.FieldPath, "pod-index"):
			value = fmt.Sprint(w.number)
		case from.FieldRef.FieldPath == "metadata.name":
			value = w.name
		}
		all[e.Name] = reference.ReplaceAllStringFunc(value, func(found string) string {
			known, set := all[found[2:len(found)-1]]
			if !set {
				t.Errorf("%s: %s uses %s, which is not set before", w.name, e.Name, found)
			}
			return known
		})
	}
	return all
}

var reference = regexp.MustCompile(`\$\([A-Z_]+\)`)

// overlay is one kustomization of the lab, and the compose project that it must equal. No test changes them.
type overlay struct {
	pods    rendered
	compose *composefiles.Project
}

var loaded = map[string]overlay{}

// overlays are the kustomizations of the lab, each with the compose project that it must equal.
func overlays(t *testing.T, test func(t *testing.T, r rendered, p *composefiles.Project)) {
	t.Helper()
	dirs, err := filepath.Glob("overlays/*")
	if err != nil || len(dirs) != 5 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			topology, changed := filepath.Base(dir), []string{"BACKENDS=0"}
			if topology == "backends" {
				topology, changed = "single", []string{"BACKENDS=1"}
			}
			if _, is := loaded[dir]; !is {
				p, err := composefiles.Load(t.Context(), "../..", topology, changed...)
				if err != nil {
					t.Fatal(err)
				}
				loaded[dir] = overlay{render(t, dir), p}
			}
			test(t, loaded[dir].pods, loaded[dir].compose)
		})
	}
}

// Whatever of compose runs in pods has the same image, the same variables and the same memory, and each service of compose has a pod.
func TestPodsAreAsInCompose(t *testing.T) {
	overlays(t, func(t *testing.T, r rendered, p *composefiles.Project) {
		compared := map[string]bool{}
		for _, w := range r.workloads {
			compare(t, r, p, w)
			compared[w.name] = true
		}
		for name := range p.Files.Services {
			if p.Starts(name) && !compared[name] && name != "welcome" { // `kubectl apply` has no last line
				t.Errorf("%s of compose has no pod", name)
			}
		}
	})
}

func TestLoadToolsAreAsInCompose(t *testing.T) {
	p, err := composefiles.Load(t.Context(), "../..", "single", "BACKENDS=0")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"load/burst", "load/k6"} {
		r := render(t, dir)
		if len(r.workloads) != 1 {
			t.Fatalf("%s has %d jobs", dir, len(r.workloads))
		}
		compare(t, r, p, r.workloads[0])
		hardened(t, r.workloads[0])
	}
	runs := render(t, "load/k6-operator")
	if len(runs.runs) != 1 {
		t.Fatalf("there are %d TestRuns", len(runs.runs))
	}
	run := runs.runs[0].Spec
	if script := runs.configs[run.Script.ConfigMap.Name].Data[run.Script.ConfigMap.File]; script == "" {
		t.Errorf("the script %+v is in no ConfigMap", run.Script.ConfigMap)
	}
	if image := p.Files.Services["k6"].Image; run.Runner.Image != image {
		t.Errorf("the runner has %s, and compose %s", run.Runner.Image, image)
	}
	for _, pod := range []k6.Pod{run.Runner, run.Starter} { // the initializer is as the runner
		user, own := pod.SecurityContext, pod.ContainerSecurityContext
		if user.RunAsUser == nil || user.SeccompProfile == nil || !*own.ReadOnlyRootFilesystem || *own.AllowPrivilegeEscalation {
			t.Errorf("a namespace with the standard restricted refuses %+v", pod)
		}
	}
	if len(run.Runner.VolumeMounts) != 1 || run.Runner.VolumeMounts[0].MountPath != "/tmp" {
		t.Errorf("the initializer cannot write into /tmp: %+v", run.Runner.VolumeMounts)
	}
	reached := runs.policies["k6"].Spec
	if len(reached.Ingress) != 1 || len(reached.Ingress[0].From) != 0 || reached.Ingress[0].Ports[0].Port.IntValue() != 6565 {
		t.Errorf("the operator does not reach the runners: %+v", reached)
	}
}

// differs are variables that pods set otherwise, with the reason.
var differs = map[string]string{
	"TOPOLOGY": "makes compose replace containers when the topology changes",
	"OWN":      "a pod is told its address as an argument, which addresses.sh looks up",
	"NO_PROXY": noProxy, "no_proxy": noProxy,
}

const noProxy = "only Docker's client gives a container its own proxy"

func compare(t *testing.T, r rendered, p *composefiles.Project, w workload) {
	t.Helper()
	service, found := p.Files.Services[w.name]
	if !found {
		t.Errorf("%s is no service of compose", w.name)
		return
	}
	if w.container.Image != service.Image {
		t.Errorf("%s has the image %s, and %s in compose", w.name, w.container.Image, service.Image)
	}
	if got := w.container.Resources.Limits.Memory().Value(); got != int64(service.MemLimit) {
		t.Errorf("%s has %d bytes of memory, and %d in compose", w.name, got, service.MemLimit)
	}
	got := r.environment(t, w)
	for name, value := range service.Environment {
		want := named(p, *value)
		if w.name == "app-2" && name == "LAB_LISTEN" { // instances are pods of one template: the Service has the other port
			want = "0.0.0.0:8080"
		}
		_, other := differs[name]
		if name == "NODES" && strings.HasPrefix(w.name, "cluster-") { // no pod knows an address before it starts: redis-ready makes the cluster
			continue
		}
		if have, set := got[name]; !other && (have != want || !set && want != "") {
			t.Errorf("%s of %s is %q, and %q in compose", name, w.name, have, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, set := service.Environment[name]; !set && !added[name] {
			t.Errorf("%s of %s is not in compose", name, w.name)
		}
	}
}

// added are variables that only pods need: a pod's number, name and node, what other variables are made of, and how pods start.
var added = map[string]bool{
	"NUMBER": true, "NODE": true, "LAB_INSTANCE": true, "SENTINELS": true,
	"MYSQL_USER": true, "MYSQL_PASSWORD": true, "MYSQL_DATABASE": true,
}

// named replaces the fixed addresses of containers by the names of their services.
func named(p *composefiles.Project, value string) string {
	for name, service := range p.Files.Services {
		if network := service.Networks["lab"]; network != nil && network.Ipv4Address != "" {
			value = regexp.MustCompile(regexp.QuoteMeta(network.Ipv4Address)+`\b`).ReplaceAllString(value, name)
		}
	}
	return value
}

// Each address that a pod is told is a Service with that port, and the Service has a pod behind it.
func TestAddressesAreServices(t *testing.T) {
	address := regexp.MustCompile(`[a-z0-9-]+:\d{4,5}\b`)
	overlays(t, func(t *testing.T, r rendered, _ *composefiles.Project) {
		backends := slices.ContainsFunc(r.workloads, func(w workload) bool { return w.name == "etcd" })
		for _, w := range r.workloads {
			for name, value := range r.environment(t, w) {
				for _, found := range address.FindAllString(value, -1) {
					host, port, _ := strings.Cut(found, ":")
					left := !backends && slices.Contains([]string{"LAB_ETCD", "LAB_ZOOKEEPER", "LAB_MEMCACHED"}, name)
					if regexp.MustCompile(`^\d`).MatchString(host) || left {
						continue
					}
					if !slices.ContainsFunc(r.services[host].Spec.Ports, func(p core.ServicePort) bool { return fmt.Sprint(p.Port) == port }) {
						t.Errorf("%s of %s names %s, which no Service has", name, w.name, found)
					}
				}
			}
		}
		for name, service := range r.services {
			if !slices.ContainsFunc(r.workloads, func(w workload) bool { return selects(service.Spec.Selector, w) }) {
				t.Errorf("the Service %s selects no pod", name)
			}
		}
		for _, budget := range r.budgets {
			if !slices.ContainsFunc(r.workloads, func(w workload) bool { return selects(budget.Spec.Selector.MatchLabels, w) }) {
				t.Errorf("the budget %s selects no pod", budget.Name)
			}
		}
	})
}

func selects(selector map[string]string, w workload) bool {
	labels := maps.Clone(w.template.Labels)
	labels["statefulset.kubernetes.io/pod-name"] = w.name
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

func TestPodsHaveNoMoreThanTheyNeed(t *testing.T) {
	overlays(t, func(t *testing.T, r rendered, _ *composefiles.Project) {
		for _, w := range r.workloads {
			hardened(t, w)
			if w.container.ReadinessProbe == nil && w.name != "page" { // as in compose: it waits for nobody, and nobody waits for it
				t.Errorf("%s has no readiness probe", w.name)
			}
			if w.container.LivenessProbe != nil {
				t.Errorf("the kubelet would start %s again after an experiment has stopped it", w.name)
			}
		}
	})
}

func hardened(t *testing.T, w workload) {
	t.Helper()
	pod, own := w.template.Spec.SecurityContext, w.container.SecurityContext
	switch {
	case pod == nil || own == nil || pod.RunAsUser == nil || *pod.RunAsUser == 0 || !*pod.RunAsNonRoot:
		t.Errorf("%s may run as root", w.name)
	case !*own.ReadOnlyRootFilesystem || *own.AllowPrivilegeEscalation || !slices.Equal(own.Capabilities.Drop, []core.Capability{"ALL"}):
		t.Errorf("%s may write its root file system, or has privileges", w.name)
	case *w.template.Spec.AutomountServiceAccountToken:
		t.Errorf("%s has a token of the cluster", w.name)
	case w.container.Resources.Requests.Cpu().IsZero() || w.container.Resources.Requests.Memory().IsZero():
		t.Errorf("%s requests no processor or no memory", w.name)
	case len(w.template.Spec.TopologySpreadConstraints) != 1:
		t.Errorf("%s is not spread over nodes", w.name)
	}
	for _, volume := range w.template.Spec.Volumes {
		if volume.EmptyDir != nil && volume.EmptyDir.SizeLimit == nil {
			t.Errorf("the folder %s of %s has no limit", volume.Name, w.name)
		}
	}
}

// A script or a configuration lies in the repository once: pods get the file that compose mounts.
func TestFilesAreThoseOfCompose(t *testing.T) {
	overlays(t, func(t *testing.T, r rendered, p *composefiles.Project) {
		mounted := files(t, p)
		for _, c := range r.configs {
			for name, text := range c.Data {
				if !slices.ContainsFunc(mounted, func(file []byte) bool { return bytes.Equal(file, []byte(text)) }) && !strings.HasPrefix(c.Name, "pods-") {
					t.Errorf("%s of %s is no file that compose mounts", name, c.Name)
				}
			}
		}
	})
}

// A script that a command or a probe names lies in the ConfigMap that is mounted there.
func TestScriptsAreMounted(t *testing.T) {
	script := regexp.MustCompile(`^/(lab|pods)/(\S+)$`)
	overlays(t, func(t *testing.T, r rendered, _ *composefiles.Project) {
		named := 0
		for _, w := range r.workloads {
			words := slices.Concat(w.container.Command, w.container.Args)
			if probe := w.container.ReadinessProbe; probe != nil && probe.Exec != nil {
				words = append(words, probe.Exec.Command...)
			}
			for _, word := range words {
				found := script.FindStringSubmatch(word)
				if found == nil {
					continue
				}
				named++
				if !slices.ContainsFunc(w.container.VolumeMounts, func(m core.VolumeMount) bool {
					at := m.MountPath == word || m.MountPath == "/"+found[1]
					return at && r.configs[configOf(w, m.Name)].Data[found[2]] != ""
				}) {
					t.Errorf("%s runs %s, which is not mounted", w.name, word)
				}
			}
		}
		if named < 8 {
			t.Errorf("only %d scripts are named", named)
		}
	})
}

// configOf is the name of the ConfigMap that is a volume.
func configOf(w workload, volume string) string {
	for _, v := range w.template.Spec.Volumes {
		if v.Name == volume && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

func files(t *testing.T, p *composefiles.Project) (all [][]byte) {
	t.Helper()
	for _, service := range p.Files.Services {
		for _, volume := range service.Volumes {
			paths, _ := filepath.Glob(filepath.Join(volume.Source, "*"))
			for _, path := range append(paths, volume.Source) {
				if text, err := os.ReadFile(path); err == nil {
					all = append(all, text)
				}
			}
		}
	}
	return all
}
