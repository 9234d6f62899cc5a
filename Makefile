# make demo and make test are all that a newcomer needs; both work in a fresh clone.

GO ?= go

# All targets share what is compiled, so nothing is compiled twice. Only the race detector and shared objects need cgo.
CGO_ENABLED ?= 0
export CGO_ENABLED

# The release of Volcano to build and test with: "make test VOLCANO=1.15.1". The go
# commands that tests run need the file's absolute path.
VOLCANO ?= 1.14.1

# Or a checkout of Volcano, such as a fork: "make test VOLCANO_SRC=../volcano" (docs/dev/FOLLOWING.md).
VOLCANO_SRC =
ifneq ($(VOLCANO_SRC),)
export GOFLAGS := -modfile=$(CURDIR)/build/volcano/go.mod
APIS = build/volcano/go.mod
else ifeq ($(VOLCANO),1.15.1)
export GOFLAGS := -modfile=$(CURDIR)/go.v1.15.mod
APIS = build/apis
else ifneq ($(VOLCANO),1.14.1)
$(error VOLCANO is $(VOLCANO), not 1.14.1 or 1.15.1)
endif

build/apis: plugin/release/apis/main.go # volcano.sh/apis for go.v1.15.mod
	GOFLAGS= $(GO) run ./plugin/release/apis
	@touch $@

# A checkout changes at any time, so its mod file is made each time.
.PHONY: build/volcano/go.mod
build/volcano/go.mod: build/apis
	@GOFLAGS= $(GO) run ./plugin/release/checkout $(VOLCANO_SRC)

# The control plane takes as long to compile as everything else together, so
# what runs on it is left to "make demo", "make e2e", "make torture" and "make load".
PLANE = ./e2e/... ./cmd/demo ./cmd/load
PACKAGES = $$($(GO) list ./... | grep -v -e /e2e -e /cmd/demo -e /cmd/load) ./e2e/history/...

.PHONY: help
help: ## what make can do
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 20

# The tests of cardctl-mcp, which build it and cardctl.
MCP_TEST = GOFLAGS= $(GO) test -C cmd/mcp -vet=off -timeout 10m .

.PHONY: test
test: $(APIS) ## layers, unit, property, differential and upstream's own tests
	@echo "make test: the first time, Volcano and Kubernetes are compiled, which takes some minutes."
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) test -vet=off -timeout 30m $(PACKAGES)
	CGO_ENABLED=1 $(GO) test -vet=off -timeout 10m -race ./index ./quota/... ./fuzz
	$(GO) test -vet=off -timeout 10m -tags invariants ./index ./quota/... ./fuzz
	$(GO) test -vet=off -timeout 10m -tags invariants ./plugin/internal/session ./plugin/internal/differential ./plugin/internal/oracle -run 'TestDifferential|TestBad|TestRefunds|TestRandomCards|TestFault|Fuzz' -clusters 200
	$(GO) test -vet=off -timeout 10m -tags invariants ./plugin/internal/chaos -run 'TestChaos$$' -worlds 40
	@# The module cmd/mcp needs a later Go than the others.
	@if GOFLAGS= GOTOOLCHAIN=local $(GO) list -C cmd/mcp -m >/dev/null 2>&1; then $(MCP_TEST); \
	else echo "cardctl-mcp is not tested: it needs Go $$(sed -n 's/^go //p' cmd/mcp/go.mod)"; fi
	@# A number of inputs: when a time ends within an input, go test can report that input as failed.
	@$(MAKE) --no-print-directory fuzz FUZZED="./fuzz ./quota/plan" FUZZTIME=500x

.PHONY: conformance
conformance: $(APIS) ## the part of make test that depends on the release: VOLCANO=1.15.1
	$(GO) vet $(PACKAGES)
	$(GO) test -vet=off -timeout 30m $(if $(VOLCANO_SRC),-v) ./plugin/release ./plugin/arguments ./plugin/upstreamtest ./plugin/neighbours
	$(GO) test -vet=off -timeout 30m $(if $(VOLCANO_SRC),-v) ./plugin/internal/session ./plugin/internal/differential ./plugin/internal/oracle -run 'TestDifferential|TestGang|TestVictims|Fuzz' -clusters 1000
	$(GO) test -vet=off -timeout 30m $(if $(VOLCANO_SRC),-v) ./plugin/constraint/... -run 'TestGang|TestVictims'
	$(GO) test -vet=off -timeout 30m $(if $(VOLCANO_SRC),-v) ./plugin/internal/chaos -run 'TestGang|TestScenes|TestChaos$$' -worlds 50

.PHONY: upstream
upstream: $(APIS) ## which defects of Volcano's plugins are present: docs/dev/UPSTREAM.md; VOLCANO_SRC=../volcano for a checkout
	@$(GO) test -vet=off -timeout 30m ./plugin/upstreamtest -run TestDefects -count=1 -v >build/upstream.txt; status=$$?; \
	sed -nE 's/.*: (present|mended): /\1: /p; /^ *(FAIL|ok|--- FAIL)/p' build/upstream.txt; exit $$status

.PHONY: lint
lint: $(APIS) ## go vet, and staticcheck with the checks of staticcheck.conf; both read all dependencies, which takes minutes the first time
	$(GO) vet $(PACKAGES)
	$(GO) vet -tags invariants ./index ./plugin/constraint ./plugin/reclaim ./plugin/internal/...
	$(GO) tool staticcheck $(PACKAGES)
	$(GO) tool staticcheck -tags invariants ./index ./quota/... ./fuzz ./plugin/constraint ./plugin/reclaim ./plugin/internal/...
	cd packaging && GOFLAGS= $$(cd .. && $(GO) tool -n staticcheck) .
	cd cmd/mcp && GOFLAGS= $(GO) vet . && GOFLAGS= $$(cd ../.. && $(GO) tool -n staticcheck) .

.PHONY: race
race: $(APIS) ## what Volcano calls in parallel, with the race detector; the first time, everything is compiled once more
	CGO_ENABLED=1 $(GO) test -timeout 30m -race ./index ./quota/... ./fuzz
	CGO_ENABLED=1 $(GO) test -timeout 30m -race ./plugin/intake ./plugin/cards ./plugin/reserve ./plugin/report
	CGO_ENABLED=1 $(GO) test -timeout 30m -race ./plugin/internal/session ./plugin/internal/differential ./plugin/internal/oracle -run 'TestParallel|TestFaults|TestMemory|TestRandomCards|Fuzz' -clusters 100

.PHONY: soak
soak: $(APIS) ## DAYS simulated days of a busy cluster, and what a process keeps after each: docs/dev/RELIABILITY.md
	$(GO) test -timeout 60m -v ./plugin/offline/replay -run TestSoak -days $(DAYS)

DAYS = 24

.PHONY: prometheus
prometheus: ## bin/prometheus: Prometheus and promtool of Debian's package, unless they are installed
	@if command -v prometheus promtool >/dev/null || test -x bin/prometheus/usr/bin/promtool; then exit 0; fi; \
	command -v apt-get dpkg-deb >/dev/null || { echo "The dashboard and the alerts are not tested: install prometheus and promtool."; exit 0; }; \
	mkdir -p bin/prometheus && cd bin/prometheus && apt-get download prometheus && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb || \
	{ echo "Prometheus could not be had; apt-get update may help."; exit 1; }

# It has many libraries, so that it is installed and not unpacked. The font is for the pages in Chinese.
.PHONY: chromium
chromium: ## Chromium of Debian's package, unless it is installed: the browser of the tests
	@if command -v chromium >/dev/null && fc-list :lang=zh | grep -q .; then exit 0; fi; \
	[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "Not all pages are tested in a browser: install chromium and a Chinese font."; exit 0; }; \
	apt-get install -y --no-install-recommends chromium fontconfig fonts-wqy-microhei || \
	{ echo "Chromium could not be had; apt-get update may help."; exit 1; }

.PHONY: axe
axe: ## bin/axe: axe-core from npm, which checks the accessibility of the pages
	@command -v npm >/dev/null || { echo "The accessibility of the pages is not tested: install npm."; exit 0; }; \
	cmp -s e2e/testdata/axe/package-lock.json bin/axe/installed && exit 0; \
	mkdir -p bin/axe && cp e2e/testdata/axe/package*.json bin/axe/ && npm ci --prefix bin/axe --no-audit --no-fund && \
	cp e2e/testdata/axe/package-lock.json bin/axe/installed

# A round of torture runs after the other tests: at the same time as them, it takes long.
.PHONY: e2e
e2e: build/apis $(APIS) prometheus runc chromium axe bin/packaging bin/tools/helm ## what users deploy, on a real control plane in one process: examples/ applied through its API
	$(GO) vet $(PLANE)
	bin/packaging image -platforms linux/$$($(GO) env GOARCH) -o bin/e2e/images
	$(GO) test -timeout 30m $$($(GO) list $(PLANE) | grep -v /e2e/torture)
	$(GO) test -timeout 10m ./e2e/torture

.PHONY: e2e-so
e2e-so: ## Volcano's own scheduler with the plugins as shared objects; the first time, everything is compiled once more
	$(GO) test -timeout 30m ./e2e -run TestSharedObjects -so -v

# How many of Volcano's suites run side by side, each with 0.8 GiB of memory.
LANES = 4

.PHONY: e2e-volcano
e2e-volcano: $(APIS) ## Volcano's own end-to-end suites with its scheduler and with ours: docs/volcano-e2e.md; some two hours
	$(GO) test ./e2e/volcano -run TestSuites -v -count=1 -timeout 0 -lanes $(LANES)

# The scheduler that is to load the plugins. By default one is built: Volcano's own, of the versions of this module.
SCHEDULER =

.PHONY: so
so: $(APIS) ## bin/so: the plugins as shared objects for a scheduler, SCHEDULER=path
	$(if $(SCHEDULER),,CGO_ENABLED=1 $(GO) build -o bin/so/vc-scheduler volcano.sh/volcano/cmd/scheduler)
	$(GO) run ./cmd/so -scheduler $(or $(SCHEDULER),bin/so/vc-scheduler)

.PHONY: cardctl
cardctl: $(APIS) ## bin/cardctl, which explains what quotas do: docs/cardctl.md
	$(GO) build -ldflags='-s -w' -o bin/cardctl ./cmd/cardctl

.PHONY: mcp
mcp: ## bin/cardctl-mcp, which cardctl mcp runs: docs/agents.md
	GOFLAGS= $(GO) build -C cmd/mcp -ldflags='-s -w' -o ../../bin/cardctl-mcp .

.PHONY: assets
assets: ## the libraries of the pages of cardctl serve, by npm: needed only after a change of cmd/cardctl/serve/assets/package.json
	cd cmd/cardctl/serve/assets && npm ci --ignore-scripts && node copy.mjs && rm -r node_modules

.PHONY: kubectl
kubectl: $(APIS) ## bin/kubectl, of the Kubernetes of this module
	$(GO) build -ldflags='-s -w' -o bin/kubectl k8s.io/kubernetes/cmd/kubectl

.PHONY: demo
demo: $(APIS) ## quotas at work on a real control plane in one process; DEMO_KEEP=1 keeps it up as a playground: docs/quickstart.md
	@mkdir -p bin && rm -f bin/.demo-built
	@echo "Building bin/demo, a Kubernetes control plane in one binary: some 5 minutes the first time, seconds after that."
	@{ $(GO) build -v -ldflags='-s -w' -o bin/demo ./cmd/demo 2>&1 && touch bin/.demo-built; } | { n=0; while IFS= read -r line; do case $$line in \
		*[\ :\#]*) echo "$$line" ;; \
		*) n=$$((n + 1)); [ $$((n % 100)) -ne 0 ] || echo "  $$n packages compiled" ;; esac; done; }
	@test -e bin/.demo-built && rm bin/.demo-built
	@[ "$(DEMO_KEEP)" != 1 ] || $(MAKE) --no-print-directory cardctl
	@bin/demo

.PHONY: differential
differential: $(APIS) ## compare with upstream on 10,000 random clusters for each plugin, and with the oracle in 100,000 random sessions
	$(GO) test ./plugin/internal/differential -run TestDifferential -v -timeout 60m -clusters 10000
	$(GO) test ./plugin/internal/oracle -run TestRandomSessions -timeout 60m -sessions 100000

FUZZTIME ?= 1m
FUZZED ?= ./index/card ./index/policy ./index/override ./quota/usage ./quota/budget ./quota/plan ./fuzz ./plugin/internal/differential ./plugin/internal/oracle ./plugin/arguments ./plugin/cards ./plugin/offline/replay/trace ./cmd/cardctl/input

.PHONY: fuzz
fuzz: $(APIS) ## each fuzz target for FUZZTIME, one after the other; the first time, everything is compiled once more
	@for package in $(FUZZED); do \
		targets=$$($(GO) test $$package -list '^Fuzz' | grep '^Fuzz') || exit 1; \
		for target in $$targets; do \
			echo "== $$package $$target"; \
			$(GO) test $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x || exit 1; \
		done; \
	done

# How long "make chaos" runs, and the seed of its first world. WORLDS=10000 runs that many worlds instead,
# and PLUGIN=capacity those with one plugin.
CHAOS_TIME ?= 1h
CHAOS_SEED ?= $(shell date +%s)0000
WORLDS =
PLUGIN =

.PHONY: chaos
chaos: $(APIS) ## random worlds for CHAOS_TIME, 1h by default: tenants, admins, nodes and restarts of the scheduler against the invariants
	$(GO) test ./plugin/internal/chaos -run 'TestChaos$$' -v -timeout 0 -world-seed $(CHAOS_SEED) -world-plugin "$(PLUGIN)" $(if $(WORLDS),-worlds $(WORLDS),-world-time $(CHAOS_TIME))

# How long "make torture" runs, and the seed of its first round. SEED=1 TORTURE_TIME=1s is one round. FAULTS=kill,slow injects
# these alone, and SCHEDULER is another scheduler, such as Volcano's own.
TORTURE_TIME ?= 10m
SEED ?= $(shell date +%s)
FAULTS =

.PHONY: torture
torture: $(APIS) ## faults on a real control plane for TORTURE_TIME, 10m by default, and a checker of all that the API server stored: docs/dev/RELIABILITY.md
	$(GO) test ./e2e/torture -run TestTorture -v -count=1 -timeout 0 -torture-time $(TORTURE_TIME) -torture-seed $(SEED) -torture-plugin "$(PLUGIN)" -torture-faults "$(FAULTS)" -torture-scheduler "$(SCHEDULER)"

.PHONY: mutants
mutants: ## break the rules in 250 places, one at a time, and see that the test that belongs to each fails
	$(GO) test ./fuzz/mutate -run TestMutants -v -count=1 -timeout 0 -mutants .

# What "make bench" measures: quick writes BENCHMARKS.md in one to two hours; full the same, the goals of contributors, and
# larger clusters in three of the rounds, which takes three hours and 22 GiB of memory; scale clusters of up to 50,000 nodes
# and 2,000,000 tasks, with 16 GiB, for docs/dev/SCALE.md; check what has a goal, and fails where one is missed; gate what CI
# measures in two minutes, and fails where allocations or ratios exceed the values in bench/results/gate; calibrate what the gate
# compares with, ten times. A busy or noisy machine is refused, except for gate and calibrate.
MODE = quick

.PHONY: bench
bench: $(APIS) ## measure against upstream for one to two hours and write BENCHMARKS.md; MODE=full, scale, tuning, check, gate or calibrate
	$(GO) run ./bench/report -measure $(MODE)

.PHONY: bench-gate
bench-gate: ## make bench MODE=gate, as CI runs it
	@$(MAKE) --no-print-directory bench MODE=gate

.PHONY: bench-peers
bench-peers: ## compare the quota engines of Kueue, KAI and YuniKorn with ours and write docs/dev/PEERS.md; the first time, each compiles its Kubernetes
	GOFLAGS= $(GO) run ./bench/report -measure peers
	@sed -n '/^## Figures/,/^## Growth/p' docs/dev/PEERS.md | sed '1d;$$d'

.PHONY: bench-history
bench-history: ## write the line of a release into bench/results/history.csv, from the last make bench: RELEASE=v1.2.3
	$(GO) run ./bench/report -record $(RELEASE)

# Of "make load". SCENARIO is burst, all jobs at once; waves, jobs that arrive for DURATION and
# end again; tuned, settings of Volcano; blocked, a burst while WAITING jobs wait; kueue, kai, backlog or kube-scheduler,
# workloads of Kueue, KAI, Volcano and Kubernetes: docs/dev/WORKLOADS.md; or churn, waves while RUNNING pods run, for
# profiles/churn-cpu.
# ROUNDS is how often each scheduler is measured.
SCENARIO = burst
NODES = 1000
PODS = 2000
ROUNDS = 3
ifneq ($(filter waves churn,$(SCENARIO)),)
NODES = 5000
PODS = 10000
ROUNDS = 1
else ifeq ($(SCENARIO),tuned)
NODES = 5000
ROUNDS = 2
else ifneq ($(filter kueue kai backlog kube-scheduler,$(SCENARIO)),)
ROUNDS = 1
endif
QUEUES = 500
WAITING = 5000
RUNNING = 20000
DURATION = 10m

.PHONY: load
load: $(APIS) ## jobs on a real control plane, with ours and Volcano's own scheduler: bench/results/load.txt, docs/load.md and the picture of the README; with SCENARIO=waves, some 40 minutes a round, load-waves.txt; with SCENARIO=tuned, ten minutes, load-tuned.txt and docs/tuning.md; with SCENARIO=kueue, kai, backlog or kube-scheduler, docs/dev/WORKLOADS.md; with SCENARIO=churn, profiles/churn-cpu
	$(GO) build -o bin/load/ours ./cmd/vc-scheduler
	$(GO) build -o bin/load/upstream volcano.sh/volcano/cmd/scheduler
ifeq ($(SCENARIO),kube-scheduler)
	$(MAKE) bin/tools/etcd
	$(GO) test -c -o bin/load/scheduler_perf k8s.io/kubernetes/test/integration/scheduler_perf/misc
endif
	$(GO) run ./cmd/load -scenario $(SCENARIO) -nodes $(NODES) -pods $(PODS) -queues $(QUEUES) -waiting $(WAITING) -running $(RUNNING) -duration $(DURATION) -rounds $(ROUNDS)
	$(GO) run ./bench/report

.PHONY: profile
profile: ## the profiles under profiles/, in a quarter of an hour
	$(GO) run ./bench/profile

# Packaging: what a release has. packaging/ is a module of its own, and its tools are modules as
# well, so that none of them is a requirement of the scheduler: docs/dev/RELEASING.md.

.PHONY: runc
runc: ## bin/runc: runc of Debian's package, unless it is installed; the tests start the images with it
	@if command -v runc >/dev/null || test -x bin/runc/usr/sbin/runc; then exit 0; fi; \
	command -v apt-get dpkg-deb >/dev/null || { echo "The images are not started: install runc."; exit 0; }; \
	mkdir -p bin/runc && cd bin/runc && apt-get download runc && dpkg-deb -x runc_*.deb . && rm runc_*.deb || \
	{ echo "runc could not be had; apt-get update may help."; exit 1; }

bin/packaging: $(wildcard packaging/*.go) packaging/go.mod packaging/go.sum
	GOFLAGS= $(GO) build -C packaging -o ../bin/packaging .

# The tools that the targets below run: helm, cosign, govulncheck, actionlint.
bin/tools/%: packaging/tools/%/go.mod packaging/tools/%/go.sum
	GOFLAGS= $(GO) build -C packaging/tools/$* -o ../../../bin/tools/$* $$($(GO) mod edit -json packaging/tools/$*/go.mod | sed -n '/"Tool"/,$$s/.*"Path": "\(.*\)".*/\1/p')

.PHONY: image
image: $(APIS) bin/packaging ## bin/images: vc-scheduler and cardctl for linux on amd64 and arm64, as OCI layouts
	bin/packaging image

.PHONY: charts
charts: bin/packaging bin/tools/helm ## bin/charts: the Helm chart with the files that it shares with deploy/
	bin/packaging charts
	bin/tools/helm lint --strict bin/charts/capacity-card

# To try a release in less time: PLATFORMS=linux/amd64.
PLATFORMS =

# Everything is built in a clone of the last commit: it has no changes, and it has the tag.
.PHONY: release
release: $(APIS) bin/packaging bin/tools/helm ## bin/release: binaries, images, charts, manifests, SBOMs and checksums of VERSION=v0.1.0, and tests of them
	@test -n "$(VERSION)" || { echo "make release VERSION=v0.1.0"; exit 1; }
	@$(if $(APIS),,rm -rf bin/release)
	@rm -rf build/release && git clone -q . build/release
	@git -C build/release rev-parse -q --verify refs/tags/$(VERSION) >/dev/null || git -C build/release tag $(VERSION)
	@test "$$(git -C build/release rev-parse $(VERSION)^{commit})" = "$$(git -C build/release rev-parse HEAD)" || { echo "$(VERSION) is the tag of another commit"; exit 1; }
	@$(if $(APIS),mkdir -p build/release/build && cp -r build/apis build/release/build/)
	bin/packaging release -source build/release -version $(VERSION) -platforms "$(PLATFORMS)"
	GOFLAGS= $(GO) test -C packaging -count=1 . -release $(CURDIR)/bin/release -release-version $(VERSION) -release-platforms "$(PLATFORMS)"

# A second clone in another directory, with other names and times of files.
.PHONY: reproduce
reproduce: bin/packaging ## compare bin/release with a second build of VERSION
	@test -n "$(VERSION)" || { echo "make reproduce VERSION=v0.1.0, after make release"; exit 1; }
	@rm -rf build/again && git clone -q . build/again/source && { git -C build/again/source tag $(VERSION) 2>/dev/null || true; }
	@bin/packaging release -source build/again/source -version $(VERSION) -platforms "$(PLATFORMS)" -binaries build/again/binaries -o build/again/release >/dev/null
	diff -r bin/release build/again/release && echo "bin/release is reproducible"
	@rm -rf build/again

# Where the images go. A release pushes to ghcr.io/capacity-card, and to docker.io/capacitycard, where Volcano's chart
# finds the scheduler next to Volcano's other images.
REGISTRY =

# What is pushed: the images of "make image", or with VERSION the images of "make release".
LAYOUTS = $(if $(VERSION),bin/release/images,bin/images)

# The Volcano in the names of the images. By default it is the release that they are built with. A checkout has none, so
# that VOLCANO_SRC needs TAG=v1.14.4.
TAG =

bin/tools/crane: packaging/go.mod packaging/go.sum
	GOFLAGS= $(GO) build -C packaging -o ../bin/tools/crane github.com/google/go-containerregistry/cmd/crane

# No name and tag of a release is pushed twice with another content. The scheduler has a second name, with our release in the
# name and Volcano's in the tag: Volcano's chart has one tag for all images before v1.15.
.PHONY: push
push: bin/tools/crane ## push the images of make image to REGISTRY=host/name, or with VERSION=v0.1.0 the images of make release
	@test -n "$(REGISTRY)" || { echo "make push REGISTRY=registry.example.com/volcano, after make image"; exit 1; }
	@ls $(LAYOUTS)/*/index.json >/dev/null 2>&1 || { echo "$(LAYOUTS) has no images: $(if $(VERSION),make release VERSION=$(VERSION),make image) builds them"; exit 1; }
	@set -e; for index in $(LAYOUTS)/*/index.json; do \
		tagged=$$(sed -n 's/.*"org.opencontainers.image.ref.name": *"\([^"]*\)".*/\1/p' $$index); \
		test -n "$$tagged" || { echo "$$index names no image"; exit 1; }; \
		tag=$${tagged##*:}; name=$${tagged%:*}; name=$${name##*/}; release=$${tag%-volcano-*}; volcano=$(or $(TAG),$${tag##*-volcano-}); \
		[ "$$volcano" != v0.0.0 ] || { echo "The images are built with a checkout: add TAG=, the tag of Volcano's other images, such as v1.14.4"; exit 1; }; \
		[ -z "$(VERSION)" ] || [ "$$release" = "$(VERSION)" ] || { echo "$$index is $$release, not $(VERSION)"; exit 1; }; \
		bin/tools/crane push $${index%/index.json} $(REGISTRY)/$$name:$$release-volcano-$$volcano >/dev/null; \
		echo "$(REGISTRY)/$$name:$$release-volcano-$$volcano"; \
		[ $$name = vc-scheduler ] || continue; \
		bin/tools/crane copy $(REGISTRY)/$$name:$$release-volcano-$$volcano $(REGISTRY)/$$name-$$release:$$volcano; \
		echo "$(REGISTRY)/$$name-$$release:$$volcano"; \
	done

# Without a key, cosign signs with a certificate for the identity of the workflow that calls it.
SIGN = --yes

.PHONY: sign
sign: bin/tools/cosign ## sign the images in REGISTRY by their digests, and the checksums: SIGN="--yes --key cosign.key"
	@test -n "$(REGISTRY)" || { echo "make sign REGISTRY=ghcr.io/capacity-card, after make push"; exit 1; }
	@set -e; for image in $$(cat bin/release/images_*.txt); do \
		tagged=$${image%@*}; tag=$${tagged##*:}; name=$${tagged%:*}; name=$${name##*/}; names=$$name; \
		[ $$name != vc-scheduler ] || names="$$name $$name-$${tag%-volcano-*}"; \
		for each in $$names; do bin/tools/cosign sign $(SIGN) $(REGISTRY)/$$each@$${image#*@}; done; \
	done
	bin/tools/cosign sign-blob $(SIGN) --bundle bin/release/checksums.txt.bundle bin/release/checksums.txt >/dev/null

.PHONY: sign-check
sign-check: bin/tools/crane bin/tools/cosign ## push the images of bin/release to a registry of this machine, sign them with a new key, and verify them
	packaging/sign-check.sh

.PHONY: publish
publish: bin/packaging ## create the release VERSION on GitHub with the files of bin/release, and the notes of CHANGELOG.md
	@mkdir -p build
	bin/packaging notes -version $(VERSION) >build/notes.md
	gh release create $(VERSION) --verify-tag --notes-file build/notes.md $$(find bin/release -maxdepth 1 -type f)

.PHONY: licenses
licenses: $(APIS) bin/packaging ## the modules of the programs and their licenses; fails for one that is not allowed
	bin/packaging licenses

# VULNDB can be a copy of the database for a machine without a network: file:///path.
VULNDB = https://vuln.go.dev

.PHONY: govulncheck
govulncheck: bin/tools/govulncheck ## known vulnerabilities in what the programs call; needs the network, or VULNDB=file:///path
	bin/tools/govulncheck -db $(VULNDB) ./cmd/vc-scheduler ./cmd/cardctl
	GOFLAGS= bin/tools/govulncheck -C cmd/mcp -db $(VULNDB) .

.PHONY: actionlint
actionlint: bin/tools/actionlint ## check .github/workflows
	bin/tools/actionlint -shellcheck= -pyflakes=
