package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// misuse has what the error of a command line says, in parts.
var misuse = map[string]string{
	"sreve":       "sreve|serve",
	"serve extra": "extra",

	"serve --redis redis://u:hush@nonsense:port":                       "--redis|address 1 of 1|redis://USER:PASSWORD@HOST:PORT|%XX",
	"serve --redis hush@a:1":                                           "--redis|redis://USER:PASSWORD@HOST:PORT",
	"serve --redis redis://:hush@a:1,redis://b:2 --topology cluster":   "--redis|address 2 of 2|user or password",
	"serve --redis redis://:hush@a:1,rediss://a:1 --topology sentinel": "--redis|user or password",
	"serve --redlock rediss://u:hush@a:1?max_retries=1,b:2,c:3":        "--redlock|address 1 of 3|skip_verify",
	"serve --redlock rediss://u:hush@a:1,redis://a:1,c:3":              "--redlock|a:1|once",
	"serve --redis redis://:hush@a:1 --redlock rediss://a:1,b:2,c:3":   "--redlock|a:1|--redis",
	"serve --redis-user hush":                                          "--redis-user needs --redis-password",

	"":                               "demo|lab|health",
	"lab":                            "list|step|topologies",
	"serve --lisen x":                "--lisen|did you mean|--listen",
	"serve --topology ring":          "--topology|ring|single|cluster",
	"serve --listen":                 "--listen|expected string value",
	"serve --listen 8080":            `--listen|"8080"|host:port`,
	"serve --listen 127.0.0.1:99999": "--listen|99999|65535",
	"serve --redis localhost":        "--redis|localhost|host:port",
	"serve --redis=":                 "--redis is empty",
	"serve --redis a:1,b:2":          "--redis|2 addresses|--topology single",
	"serve --redis 127.0.0.1:0":      "--redis|127.0.0.1:0|port",
	"serve --topology sentinel --sentinel-master=":            "--sentinel-master|empty",
	"serve --addr-map a=b,,c=d":                               "of the list is empty",
	"serve --addr-map a":                                      "--addr-map",
	"serve --redlock a:1,b:2":                                 "--redlock|2 addresses|at least 3",
	"serve --redlock localhost:1,127.0.0.1:1,c:3":             "--redlock|localhost:1|127.0.0.1:1|once",
	"serve --redis 127.0.0.1:1 --redlock localhost:1,b:2,c:3": "--redlock|localhost:1|--redis|127.0.0.1:1",
	"serve --zookeeper localhost":                             "--zookeeper|localhost|host:port",
	"serve --etcd http://localhost:2379":                      "--etcd|http://localhost:2379|host:port",
	"serve --etcd localhost:1,127.0.0.1:1,c:3":                "--etcd|localhost:1|127.0.0.1:1|once",
	"serve --database postgres://root:hush":                   "--database|postgres:***|sqlite:PATH",
	"serve --database mysql:root:hush@nonsense":               "--database|mysql:***|user:password@tcp(host:port)/name",
	"serve --lease 5":                                         "--lease|5",
	"serve --lease=-5s":                                       "--lease is -5s|100ms|1h",
	"serve --request 7s":                                      "--request is 7s|two thirds|10s",
	"serve --request=-1s":                                     "--request is -1s|10s",
	"serve --node-timeout 7s":                                 "--node-timeout is 7s|two thirds|10s",
	"serve --wait 2h":                                         "--wait|2h|1h",
	"serve --order-think=-1s":                                 "--order-think is -1s|from 0s to 1h",
	"serve --cache-ttl 0s":                                    "--cache-ttl|0s|10ms",
	"serve --item-query=-1s":                                  "--item-query is -1s|from 0s to 1h",
	"serve --start-timeout 0s":                                "--start-timeout|0s",
	"serve --log-format xml":                                  "--log-format|xml|text|json",
	"serve --instance " + strings.Repeat("x", 65):             "--instance|65|64",
	"serve --supplier-limit=0":                                "must be 1 to",
	"serve --supplier-window=1500us":                          "whole milliseconds",
	"serve --supplier=localhost:80":                           "--supplier|http://host:port",
	"serve --nodes=0":                                         "--nodes",
	"serve --limiter-fails=maybe":                             "closed",
	"demo --users 1":                                          "--users|1|2",
	"demo --users 667":                                        "--users is 667|even",
	"demo --users many":                                       "--users|many",
	"demo --drivers 3":                                        "--drivers is 3|even",
	"demo --rounds 0":                                         "--rounds|0|1",
	"demo --versions v1,v1":                                   "--versions|v1|twice",
	"demo --versions v1,v99":                                  "--versions|v99|v4",
	"demo --versions v3,all":                                  "--versions|all",
	"demo --versions v1,":                                     "of the list is empty",
	"demo --topology star":                                    "--topology|star|cluster",
	"demo --embedded --topology=cluster":                      "--embedded|--topology cluster",
	"demo --think 1m":                                         "--think is 1m|from 0s to 10s",
	"demo --listen nowhere":                                   "--listen|nowhere|host:port",
	"demo --instances=1":                                      "--instances|from 2 to 32",
	"demo --instances=12 --drivers=10":                        "--instances|--drivers (10)",
	"burst --instances=21 http://127.0.0.1:1":                 "--instances|--drivers (20)",
	"burst --users=7 http://127.0.0.1:1":                      "--users|even",
	"burst https://127.0.0.1:1":                               `"https://127.0.0.1:1"|http://host:port`,
	"burst localhost:1":                                       `"localhost:1"|http://host:port`,
	"burst http://127.0.0.1":                                  `"http://127.0.0.1"|http://host:port`,
	"burst http://127.0.0.1:99999":                            `"http://127.0.0.1:99999"|http://host:port`,
	"burst http://127.0.0.1:1/v3":                             `"http://127.0.0.1:1/v3"|http://host:port`,
	"burst http://127.0.0.1:1/?users=3":                       `"http://127.0.0.1:1/?users=3"|http://host:port`,
	"burst http://127.0.0.1:1#top":                            `"http://127.0.0.1:1#top"|http://host:port`,
	"burst http://me:x@127.0.0.1:1":                           `"http://me:x@127.0.0.1:1"|http://host:port`,
	"burst %":                                                 `"%"|http://host:port`,
	"health --listen http://127.0.0.1:8080":                   `--listen|"http://127.0.0.1:8080"|host:port`,
	"doctor --skip ports,memry":                               `but got "memry"`,
	"completion tcsh":                                         "tcsh|bash",
	"completion zsh":                                          "go build -o app", // a test binary lies in a temporary folder, as with go run
	"lab show L3":                                             "L03-foreign-unlock",
	"lab show nothing-like-it":                                "app lab list",
	"lab check":                                               "path",
	"lab check no-such-file":                                  "no-such-file|JMeter or k6",
	"lab check .":                                             "cannot be read",
	"lab explore L05":                                         "L05-lease-overrun has no lock that is a list of steps",
	"lab explore L03 --clients AC":                            `but got "AC"`,
	"lab explore L03 --deaths 9":                              "--deaths is 9|from 0 to 3",
	"lab explore C4 --deaths 1":                               "C4-delayed-double-delete|--deaths",
	"lab step L05":                                            "has no lock that is a list of steps",
	"lab step L77":                                            "there is no experiment",
	"lab step L03 --lock DEL":                                 `--lock "DEL" is not one lock`,
	"lab step L03 --clients B":                                `but got "B"`,
	"lab step L03 --moves D":                                  "--moves has a client D",
	"lab step L03 --moves A,B":                                `--moves:|"A,B" is no move`,
	"lab run":                                                 "app lab list",
	"lab run L3":                                              "L03-foreign-unlock",
	"lab run L03 --all":                                       "drop one of the two",
	"lab run --article A9":                                    "A0, A1, A2, A3, A4",
	"lab run L03 --trials=-1":                                 "--trials is -1|from 1 to 1000",
	"lab run L03 --parallel 0":                                "--parallel",
	"lab run L03 --seed x":                                    "--seed",
	"lab run L03 --out=":                                      "--out is empty",
	"lab run F01 --on moon":                                   "--on",
	"lab run F01 --on docker --embedded":                      "drop one of the two",
	"lab run F01 --on docker":                                 "a checkout of Locklab",
	"lab run L03 --on docker":                                 "F01-master-slave, F02-sentinel, F03-cluster, F11-partition",
	"lab pages L99":                                           "L99",
	"lab topologies --out=no-such-folder/x.md":                "--out|folder no-such-folder",
	"lab try":                                                     "app lab try -- ./mylock|docs/protocol.md",
	"lab try ./mylock --only T03":                                 "after --",
	"lab try --only T99 -- true":                                  "T99|--list",
	"lab try --parallel 0 -- true":                                "--parallel is 0|from 1 to 8",
	"lab try --out x.json -- true":                                "--out is x.json|try.html",
	"lab try --out file/x/try.html -- true":                       "--out is |cannot be written",
	"lab try --store file -- true":                                "--store is |cannot be written",
	"lab try --out try.html -- true":                              "status 0 before it said hello",
	"lab try --against no.json -- true":                           "--against is no.json|NAME-TIME.json",
	"lab try --against file -- true":                              "--against is file|no scorecard|--json",
	"lab try --junit no/x.xml -- true":                            "--junit is no/x.xml|cannot be written",
	"lab try --transcript no/x.txt -- true":                       "--transcript is no/x.txt|cannot be written",
	"lab try --check --junit x.xml -- true":                       "--check and --junit",
	"lab try --history mylock":                                    `--name "mylock"`,
	"lab try --history --name mylock":                             `--name is "mylock"|--history shows all`,
	"lab try -- ./no-such-lock":                                   "there is no file ./no-such-lock|correct the path",
	"lab serve --listen=0.0.0.0:8090":                             "0.0.0.0:8090|--class|127.0.0.1:8070",
	"lab serve --listen=8090":                                     "--listen|host:port",
	"lab serve --listen=:8090":                                    "at :8090",
	"lab serve --listen=example.com:8090":                         "at example.com:8090",
	"lab serve --trainer-token=0123456789abcdef":                  "--trainer-token|--class",
	"lab serve --class --trainer-token=0123456789abcde":           "--trainer-token has 15 characters|16",
	"lab serve --address=8090":                                    "--address|host:port",
	"lab serve --class --address=https://lab.example/lab/":        `--address is "https://lab.example/lab/"|without a path`,
	"lab serve --class --address=ftp://lab.example":               `--address is "ftp://lab.example"|https://lab.example`,
	"lab serve --class --address=https://lab.example:99999":       "99999",
	"lab serve --address=https://lab.example":                     "at https://lab.example|--class",
	"lab serve --class --address=https://lab.example/ --out=":     "--out is empty",
	"lab serve --address=https://localhost:8443 --out=":           "--out is empty",
	"lab serve --url=ftp://127.0.0.1:1":                           `--url is "ftp://127.0.0.1:1"|http://host:port`,
	"lab serve --class --trainer-token=0123456789abcdef --out=":   "--out is empty", // and nothing else is wrong with it
	"lab serve --listen=0.0.0.0:1 --address=127.0.0.1:1 --out=":   "--out is empty",
	"lab serve --url=http://127.0.0.1:1/ --listen=[::1]:1 --out=": "--out is empty",
}

// A command that cannot be meant ends with exit code 64. Its error names the setting, its value and what is allowed, and no password.
func TestMisuse(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop() // so that a command that should be refused ends
	for args, want := range misuse {
		ctx := stopped
		if strings.HasPrefix(args, "lab try") || strings.HasPrefix(args, "lab check") { // they look at files and programs first
			ctx = t.Context()
		}
		got := app(ctx, strings.Fields(args)...)
		t.Run(args, func(t *testing.T) {
			wantSentence(t, got, exitUsage, strings.Split(want, "|")...)
			if strings.Contains(got.err, "hush") {
				t.Errorf("the error has a password: %s", got.err)
			}
		})
	}
	if _, err := os.Stat("try.html"); err == nil {
		t.Error("app lab try leaves a file without a scorecard")
	}
}

// A variable sets the flag of its name. It has precedence over the default, and the error is that of the flag. Spaces around the items of a
// list are dropped.
func TestVariablesSetFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for setting, c := range map[string]struct{ args, want string }{
		"LAB_REDLOCK=a:1, b:2,\tb:2\n": {"serve", "as b:2 and b:2;"},
		"USERS=many":                   {"burst http://127.0.0.1:1", `USERS is "many"; it must be a number`},
		"USERS=7":                      {"burst http://127.0.0.1:1", "must be even"},
		"VERSION=v99":                  {"burst http://127.0.0.1:1", "v99"},
		"APP_INSTANCES=1":              {"burst http://127.0.0.1:1", "--instances is 1"},
	} {
		t.Run(setting, func(t *testing.T) {
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv(name, value)
			wantSentence(t, app(t.Context(), strings.Fields(c.args)...), exitUsage, c.want)
		})
	}
	// A misspelled variable is a warning, not an error, because it may belong to another program.
	for name, warns := range map[string]bool{"LAB_LAESE": true, "LAB_WAIT": false, "LAB_NET": false, "LABEL": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "1s")
			got := app(t.Context(), "lab", "show", "L03")
			if got.code != exitOK || strings.Contains(got.err, name) != warns || !warns && got.err != "" {
				t.Errorf("exit %d: %q", got.code, got.err)
			}
		})
	}
}

// A variable that tests read must not set a flag, because it would change the commands that the tests run.
func TestVariablesOfTestsAreNoFlags(t *testing.T) {
	parser, err := newParser(t.Context(), streams{io.Discard, io.Discard}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range flagVariables(parser.Model.Node) {
		if slices.Contains(otherVariables, variable) {
			t.Errorf("%s is read by tests but sets a flag", variable)
		}
	}
}
