# Locklab. `make help` lists the targets.

GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GORELEASER := github.com/goreleaser/goreleaser/v2@v2.16.0
CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
LICENCES := github.com/google/go-licenses@v1.6.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB := golang.org/x/vulndb/cmd/indexdb
GREMLINS := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
STAMP := $(shell .ci/stamp)
APP := go run -ldflags "-X 'main.stamp=$(STAMP)'" ./cmd/app

# Fails with a sentence when Maven or the JDK is missing.
MAVEN = @{ command -v mvn && command -v javac; } >/dev/null || { echo "make $@ needs Java 17 and Maven: apt-get install openjdk-17-jdk-headless maven (macOS: brew install openjdk maven)"; exit 1; }

.PHONY: help demo test check race doctor images up burst status down jmeter articles twelve kubernetes kubernetes-test libraries library mixed class interop topologies fmt lint size imports mutants cross fuzz model bench scale bench-test microbench screenshot faults lab compare pages results site site-check tidy dist dist-check release licences outdated vulnerabilities

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

demo: ## Start two instances, send 666 simultaneous page views to each version, and judge the results; DEMO="--keep" passes flags
	@$(APP) demo $(DEMO)

test: ## Run the tests and list missing servers and flaky tests at the end; LAB_REQUIRE=all fails if a server is missing
	@.ci/test

check: ## Run the checks that are not part of CI (two hours or more); PART="size pages" selects some, PART=help lists them
	@.ci/check $(PART)

# All tests of the locks, on every server, but only the short ones of other packages.
race: ## Run the tests with the race detector; needs a C compiler
	@command -v "$$(go env CC)" >/dev/null || { echo "the race detector needs a C compiler: apt-get install gcc"; exit 1; }
	go test -race -short -count=1 -timeout=30m ./...
	go test -race -count=1 -timeout=30m ./lockstrategy/...

doctor: ## Check whether this machine is ready for a class
	@$(APP) doctor

images: ## Build every image of docker-compose.yml without a registry
	deploy/offline/build

up: ## Start the containers of docker-compose.yml; TOPOLOGY=cluster selects or switches the Redis topology
	@$(APP) up $(TOPOLOGY)

burst: ## Send 666 simultaneous requests to each of v0 to v4 of the running containers, and judge the results
	@$(APP) burst

status: ## Show where the containers listen, or why they are not ready
	@$(APP) status

down: ## Remove the containers, their networks and data; keep images and the build cache
	@$(APP) down

jmeter: ## Install JMeter from Maven Central into loadtest/jmeter/target
	$(MAVEN)
	mvn -q -f loadtest/jmeter/pom.xml clean initialize

articles: ## Build the Java of the articles with Maven, for the experiments that need it (examples/articles)
	$(MAVEN)
	mvn -q -f examples/articles/pom.xml package
	mvn -q -f examples/articles/pom.xml -Dredisson.version=3.14.0 package

interop: ## Test the Redis lock against three versions of Redisson on four topologies (1 minute)
	LAB_PARTS=interop go test -count=1 -v ./loadtest/interop

topologies: ## Load every topology and version with three load tools, kill the master, and write docs/topologies.md (5 minutes)
	@$(APP) lab topologies

fmt: ## Format the Go code, and sort its imports
	go run $(GOLANGCI) fmt

lint: ## Run golangci-lint, including line length (140), function length (40), and which package may import which
	go run $(GOLANGCI) run ./...
	@! git grep -nE '^\s+\*?redis\.(Client|Tx|UniversalClient)$$' -- '*.go' ':!*_test.go' || { echo "name this field: docs/decisions/0025"; exit 1; }

size: ## Count lines of Go without tests: total, some parts, and each package
	@.ci/size

imports: ## Draw which packages import which, in docs/decisions/0001-packages-and-imports.md; fails on a circle
	@go run ./tools/imports

# The tests of a small package take less time than the linker, so each change gets thirty times that time.
mutants: ## Check that a test fails for each change in tools/mutants/mutants.txt; MUTANTS=session selects by name, PACKAGE=./lab/history changes one package with gremlins instead
	@$(if $(PACKAGE),go run $(GREMLINS) unleash $(PACKAGE) --workers 2 --timeout-coefficient 30 --invert-logical --invert-loopctrl,LAB_PARTS=all go run ./tools/mutants -run "$(MUTANTS)" tools/mutants/mutants.txt)

cross: ## Run go vet for macOS and Windows
	GOOS=darwin go vet ./...
	GOOS=windows go vet ./...

fuzz: ## Run each fuzz target for a while; FUZZTIME=1m sets how long
	@for target in $$(grep -rhoE 'func Fuzz[A-Za-z]+' --include=*_test.go . | cut -c6- | sort); do \
		package=$$(grep -rlE "func $$target\(" --include=*_test.go . | head -1 | xargs dirname); \
		go test -run=NONE -fuzz="^$$target$$" -fuzztime=$(or $(FUZZTIME),20s) -fuzzminimizetime=10x $$package || exit 1; done

model: ## Run random schedules of the Redis lock with faults and judge them; RUNS=20000 SEED=1 repeats a failure by its seed
	MODEL_SEED=$(or $(SEED),1) MODEL_RUNS=$(or $(RUNS),3000) go test -run='^TestModel$$' -v -count=1 -timeout=60m ./lockstrategy/redislock

bench: ## Benchmark our lock against other libraries on real servers and write docs/benchmark.md (14 minutes)
	@! command -v mvn >/dev/null || [ -f loadtest/benchmark/java/target/benchmark-1.jar ] || mvn -q -f loadtest/benchmark/java/pom.xml package
	cd loadtest/benchmark && go run . run --out runs.jsonl && go run . page runs.jsonl --out ../../docs/benchmark.md

scale: ## Benchmark our locks with 2 to 32 instances and 1 to 64 keys, and write docs/scale.md (8 minutes)
	cd loadtest/benchmark && go run . run --plan scale --out scale.jsonl && go run . page scale.jsonl --out ../../docs/scale.md

bench-test: ## Lint and test the benchmark, which is a separate module
	cd loadtest/benchmark && go run $(GOLANGCI) run --config ../../.golangci.yml --disable depguard ./...
	cd loadtest/benchmark && go test -count=1 ./...

microbench: ## Run the Go benchmarks of the locks and of a page view in one process
	go test -run=NONE -bench=. -benchmem ./lockstrategy/... ./versions ./pview

screenshot: ## Take the screenshots docs/img/scene.png and docs/img/report.png with Chromium
	LAB_SCREENSHOT="$(CURDIR)/docs/img/scene.png" LAB_REQUIRE=all LAB_PARTS=page go test -count=1 -run=TestThePictureOfAScene ./cmd/app
	LAB_SCREENSHOT="$(CURDIR)/docs/img/report.png" LAB_REQUIRE=all go test -count=1 -run=TestThePictureOfL11 ./lab/report/html

faults: ## Break the containers one by one and write what users see to docs/faults.md (15 minutes); FAULTS=mysql selects by name
	go run ./tools/faults $(FAULTS)

twelve: ## Load twelve instances in containers with k6 and write what the supplier sees to docs/ratelimit.md (9 minutes)
	go run ./tools/twelve

kubernetes: ## Start a Kubernetes cluster of three nodes, try every topology and a class, and write docs/kubernetes.md (25 minutes, plus 10 for the first build); KUBERNETES=sentinel or KUBERNETES=class runs one, KUBERNETES=clean removes what a killed run left
	@deploy/kubernetes/engine/run $(KUBERNETES)

class: ## Generate a Kubernetes lab for each participant of a class, as in: make class N=25 HOST=192.168.1.20 TOPOLOGY=single
	@deploy/kubernetes/participants "$(N)" "$(HOST)" $(TOPOLOGY)

kubernetes-test: ## Test the manifests of deploy/kubernetes, which is a separate module
	cd deploy/kubernetes && go vet ./... && go test -count=1 ./...

libraries: ## Test lock libraries in four languages and write docs/libraries.md with their scorecards (two hours)
	@go run ./tools/libraries

library: ## Test one library, or one test of it, as in: make library NAME=redsync-five ROW=T18
	@go run ./tools/libraries show "$(NAME)" $(ROW)

mixed: ## Test which lock libraries exclude each other on one key, and write docs/mixed-stack.md (a minute)
	@go run ./tools/libraries mixed

lab: ## Break every lock on purpose and judge the results; LAB="run L03" passes another command than "run --quick"
	@$(APP) lab $(or $(LAB),run --quick)

compare: ## Update the tables of docs/compare.md from docs/experiments/results and the results of make bench
	@$(APP) lab compare --write

pages: ## Generate docs/experiments, docs/errata.md and the matrix from the code, the lessons and docs/experiments/results, in seconds; ID=L05 writes the page of one experiment
	@$(APP) lab pages $(ID)

results: ## Take over new runs from store/ into docs/experiments, and generate the pages; ID=L05 takes over one experiment
	@$(APP) lab pages --take $(or $(LAB_STORE),store) $(ID)

site: ## Write the static site to site/; SITE_SOURCES=https://github.com/owner/name/blob/main links to source files
	@go run ./tools/site --out site --repository "$(SITE_SOURCES)"

site-check: ## Check every link and picture of site/, and read the site in Chromium: the story, a violation by hand, the search
	@go run ./tools/site --out site --check
	LAB_REQUIRE=chromium LAB_PARTS=page,pages go test -count=1 ./tools/site/...

tidy: ## Run go mod tidy in every module
	@git ls-files '*go.mod' | while read -r file; do (cd "$$(dirname "$$file")" && go mod tidy) || exit 1; done

dist: ## Build archives for Linux, macOS and Windows with checksums and SBOMs in dist/, and check them (15 minutes the first time)
	@.ci/licences $(LICENCES) .licences
	@CGO_ENABLED=0 VERSION=$(firstword $(STAMP)) STAMP="$(STAMP)" CYCLONEDX=$(CYCLONEDX) go run $(GORELEASER) release --snapshot --clean
	@.ci/dist-check

dist-check: ## Run the demo from each archive in dist/ that this machine can run (Linux)
	@.ci/dist-check

release: ## Do every step of a release, in order, and go on where it stopped: make release VERSION=0.2.0; STEP=help lists the steps
	@.ci/release

licences: ## Write the licences of all linked code to docs/licences.md
	@new=$$(mktemp) && .ci/licences $(LICENCES) >$$new && cat $$new >docs/licences.md && rm $$new

outdated: ## List dependencies and tools with newer versions, and why some are held back
	@.ci/outdated

vulnerabilities: ## List known vulnerabilities in functions that the program calls, with govulncheck; needs jq
	@.ci/vulnerabilities $(GOVULNCHECK) $(VULNDB)
