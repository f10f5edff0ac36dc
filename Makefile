# Locklab. `make help` lists what there is.

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.16.0
CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
LICENCES := github.com/google/go-licenses@v1.6.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB := golang.org/x/vulndb/cmd/indexdb
STAMP := $(shell .ci/stamp)
APP := go run -ldflags "-X 'main.stamp=$(STAMP)'" ./cmd/app

.PHONY: help demo test check race doctor images up burst status down jmeter twelve kubernetes kubernetes-test libraries library swarm class interop topologies lint style size mutants cross fuzz model bench scale bench-test microbench readme screenshot faults lab matrix compare pages dist dist-check licences outdated vulnerabilities

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: ## The main job: two instances, 666 simultaneous page views on every version, judged; DEMO="--keep" passes flags
	@$(APP) demo $(DEMO)

test: ## All tests. It says which servers are missing, and what passed only when run again; LAB_REQUIRE=all makes a missing server a failure
	@.ci/test

check: ## All checks beside CI, in parts; PART="style size" chooses, PART=help lists them, and without PART all run (two hours or more)
	@.ci/check $(PART)

# The locks whole, on every server; of the other packages the inner loop.
race: ## The race detector; it needs a C compiler
	@command -v "$$(go env CC)" >/dev/null || { echo "the race detector needs a C compiler: apt-get install gcc"; exit 1; }
	go test -race -short -count=1 -timeout=30m ./...
	go test -race -count=1 -timeout=30m ./lockstrategy

doctor: ## Before a class: is this machine ready for docker compose, k6 and JMeter?
	@$(APP) doctor

images: ## Build every image of docker-compose.yml without a registry
	deploy/offline/build

up: ## docker-compose.yml up; TOPOLOGY=cluster switches to that one
	@$(APP) up $(TOPOLOGY)

burst: ## 666 simultaneous requests on each of v0 to v4 of what is up, judged
	@$(APP) burst

status: ## Show where the containers listen, or which is not ready and why
	@$(APP) status

down: ## Take the containers down, with their networks and data; images and build cache stay
	@$(APP) down

jmeter: ## Lay JMeter out in loadtest/jmeter/target, from Maven Central
	mvn -q -f loadtest/jmeter/pom.xml clean initialize

interop: ## The Redis lock beside real Redisson, three versions, four topologies (a minute)
	LAB_PARTS=interop go test -count=1 -v ./loadtest/interop

topologies: ## All topologies, all versions, three load tools, the master killed: writes docs/topologies.md (14 minutes)
	@$(APP) lab topologies

lint: ## golangci-lint, pinned here and not in go.mod; it checks which package imports which, too
	go run $(GOLANGCI) run ./...

style: ## The length of lines (140) and functions (40 lines of code), and the spelling in Go: part of make check, not of CI
	go run $(GOLANGCI) run --enable-only=funlen,lll,misspell ./...

size: ## Lines of Go without tests: in all, of some parts, and by package
	@.ci/size

PACKAGES := ./pview ./order ./history ./experiments ./ratelimit ./shop ./cache ./experiments/steps

mutants: export LAB_PARTS = all
mutants: ## Change one line at a time, and see that a test fails: internal/mutants/mutants.txt; MUTANTS=pview selects by name, OF=4 PART=1 a fourth. SEED=1 draws N=27 changes of PACKAGES instead
	@$(if $(SEED),go run ./internal/mutants -seed $(SEED) -n $(or $(N),27) $(PACKAGES),go run ./internal/mutants -run "$(MUTANTS)" -of $(or $(OF),1) -part $(or $(PART),0) internal/mutants/mutants.txt)

cross: ## go vet for macOS and Windows
	GOOS=darwin go vet ./...
	GOOS=windows go vet ./...

fuzz: ## Each fuzz target for a while: make fuzz FUZZTIME=1m
	@for target in $$(grep -rhoE 'func Fuzz[A-Za-z]+' --include=*_test.go . | cut -c6- | sort); do \
		package=$$(grep -rlE "func $$target\(" --include=*_test.go . | head -1 | xargs dirname); \
		go test -run=NONE -fuzz="^$$target$$" -fuzztime=$(or $(FUZZTIME),20s) -fuzzminimizetime=10x $$package || exit 1; done

model: ## Random runs of the Redis lock with faults, judged: make model RUNS=20000 SEED=1. A failure names its seed
	MODEL_SEED=$(or $(SEED),1) MODEL_RUNS=$(or $(RUNS),3000) go test -run='^TestModel$$' -v -count=1 -timeout=60m ./lockstrategy

bench: ## Our lock beside other libraries on real servers: writes docs/benchmark.md (about 14 minutes)
	@! command -v mvn >/dev/null || [ -f loadtest/benchmark/java/target/benchmark-1.jar ] || mvn -q -f loadtest/benchmark/java/pom.xml package
	cd loadtest/benchmark && go run . run --out runs.jsonl && go run . page runs.jsonl --out ../../docs/benchmark.md

scale: ## Our locks with 2 to 32 instances and 1 to 64 keys, and a model of more: writes docs/scale.md (about 8 minutes)
	cd loadtest/benchmark && go run . run --plan scale --out scale.jsonl && go run . scale scale.jsonl --out ../../docs/scale.md

bench-test: ## Lint and test that benchmark, which is a module of its own
	cd loadtest/benchmark && go run $(GOLANGCI) run --config ../../.golangci.yml --disable depguard ./...
	cd loadtest/benchmark && go test -count=1 ./...

microbench: ## Benchmarks of the locks and of a page view, one process, as Go prints them
	go test -run=NONE -bench=. -benchmem ./lockstrategy/... ./pview

readme: ## Run the demo 30 times, the workshop's experiments and each help, and write the results into README.md and docs (10 minutes); PART=help does one
	go run ./internal/readme $(PART)

screenshot: ## Make docs/img/page.png of the README and docs/img/report.png of the workshop, with Chromium
	LAB_SCREENSHOT="$(CURDIR)/docs/img/page.png" LAB_REQUIRE=all LAB_PARTS=page go test -count=1 -run=TestThePictureOfABurst ./cmd/app
	LAB_SCREENSHOT="$(CURDIR)/docs/img/report.png" LAB_REQUIRE=all go test -count=1 -run=TestThePictureOfL11 ./report/html

faults: ## Break the containers one by one and write what users see into docs/faults.md (15 minutes); FAULTS=mysql selects by name
	go run ./internal/faults $(FAULTS)

twelve: ## Start twelve instances in containers, load them with k6 and write what the supplier has seen into docs/ratelimit.md (9 minutes)
	go run ./internal/twelve

kubernetes: ## A Kubernetes of three nodes on this machine, for every topology and a class. It writes docs/kubernetes.md (25 minutes; its first build 10 more). KUBERNETES=sentinel or class runs one
	go run ./internal/kubernetes $(KUBERNETES)

class: ## Write a lab for each participant of a class on Kubernetes: make class N=25 HOST=192.168.1.20 TOPOLOGY=single. It says how to start and remove them
	@deploy/kubernetes/participants "$(N)" "$(HOST)" $(TOPOLOGY)

swarm: ## A Swarm of two engines on this machine: deploys every topology, kills an engine, writes a part of deploy/swarm/README.md (8 minutes). SWARM=sentinel runs one
	go run ./internal/swarm $(SWARM)

kubernetes-test: ## Decode and compare the manifests of deploy/kubernetes, which are a module of their own
	cd deploy/kubernetes && go vet ./... && go test -count=1 ./...

libraries: ## Try lock libraries in four languages: writes docs/libraries.md and their scorecards (40 minutes)
	@go run ./internal/libraries

library: ## Try one of them, or one row of it: make library NAME=redsync-five ROW=T18
	@go run ./internal/libraries show "$(NAME)" $(ROW)

lab: ## Break every lock on purpose and judge what was seen; LAB="run --quick" is the default, LAB="run L03" runs one
	@$(APP) lab $(or $(LAB),run --quick)

matrix: ## Lock by anomaly, from the saved runs: writes docs/matrix.md and a part of README.md
	@$(APP) lab matrix --write

compare: ## The locks on all backends side by side, from the saved runs and the file of make bench: writes the tables of docs/compare.md
	@$(APP) lab compare --write

pages: ## docs/experiments, docs/errata.md and the matrix, from the code and the saved runs
	@$(APP) lab pages
	@$(APP) lab matrix --write

dist: ## Archives for Linux, macOS and Windows with checksums and bills of materials in dist/, and dist-check (15 minutes the first time)
	@.ci/licences $(LICENCES) .licences
	@CGO_ENABLED=0 VERSION=$(firstword $(STAMP)) STAMP="$(STAMP)" CYCLONEDX=$(CYCLONEDX) go run $(GORELEASER) release --snapshot --clean
	@.ci/dist-check

dist-check: ## Start each archive of dist/ that this machine can run, and play the demo of its own in an empty folder (Linux)
	@.ci/dist-check

licences: ## The licences of everything that the program is linked from: writes docs/licences.md
	@new=$$(mktemp) && .ci/licences $(LICENCES) >$$new && cat $$new >docs/licences.md && rm $$new

outdated: ## Dependencies and tools that have a newer version, in all modules of this repository, and why some stay
	@.ci/outdated

vulnerabilities: ## Known vulnerabilities in functions that the program calls, by govulncheck; it needs jq
	@.ci/vulnerabilities $(GOVULNCHECK) $(VULNDB)
