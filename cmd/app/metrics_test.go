//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// Every query of the dashboard returns data, with the labels of its legend, when Prometheus runs with the configuration of the containers.
// It asks the instances themselves, so that a burst stays halved.
func TestDashboard(t *testing.T) {
	testenv.Needs(t, testenv.Prometheus)
	t.Parallel()
	running := pair(t)
	p := startPrometheus(t, running.Instances)
	testenv.Eventually(t, "both instances are scraped", func() bool { return len(p.query(t, "up == 1")) == 2 })
	if got := runBurst(t, "--versions=v0,v3", running.URL); got.code != exitOK {
		t.Fatalf("exit %d: %s%s", got.code, got.out, got.err)
	}
	text, err := os.ReadFile(composeDir + "/deploy/metrics/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("%v, %d panels", err, len(dashboard.Panels))
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
			testenv.Eventually(t, panel.Title+": data of "+query, func() bool { return hasData(p.query(t, query), target.LegendFormat) })
		}
	}
}

// hasData reports whether a series has a number, and all have the labels of a legend.
func hasData(all []series, legend string) bool {
	numbers := 0
	for _, s := range all {
		for _, label := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(legend, -1) {
			if s.Metric[label[1]] == "" {
				return false
			}
		}
		text, _ := s.Value[1].(string)
		if value, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(value) {
			numbers++
		}
	}
	return numbers > 0
}

type prometheus struct{ url string }

// startPrometheus starts Prometheus with deploy/metrics/prometheus.yml, for instances elsewhere.
func startPrometheus(t *testing.T, instances []*servers.Instance) prometheus {
	t.Helper()
	text, err := os.ReadFile(composeDir + "/deploy/metrics/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for i, target := range []string{"app-1:8080", "app-2:8090"} {
		if !strings.Contains(config, target) {
			t.Fatalf("prometheus.yml has no target %s", target)
		}
		config = strings.Replace(config, target, strings.TrimPrefix(instances[i].URL, "http://"), 1)
	}
	dir, listen := t.TempDir(), testenv.FreeAddr(t)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	process, err := testenv.Stack(t).Program("prometheus",
		"prometheus", "--config.file="+file, "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		_ = errors.Join(process.In.Close(), process.Out.Close())
	})
	return prometheus{"http://" + listen}
}

// series is one series of an answer.
type series struct {
	Metric map[string]string
	Value  [2]any // time and number, the number as text
}

// query returns nothing while Prometheus does not answer yet.
func (p prometheus) query(t *testing.T, query string) []series {
	t.Helper()
	response, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []series }
	}
	if response.StatusCode == http.StatusServiceUnavailable { // it is starting
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Error != "" {
		t.Fatalf("%s: %v, %s", query, err, answer.Error)
	}
	return answer.Data.Result
}
