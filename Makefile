# Every target here is what CI and CONTRIBUTING call; `make` lists them.

GO ?= go
GOLANGCI_LINT_VERSION := v2.15.0
GOVULNCHECK_VERSION := v1.9.0
FUZZTIME ?= 10s

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/dq-bench
	$(GO) build -o bin/dq-bench ./cmd/dq-bench

JAVA_VALUES := harness/internal/ops/java

.PHONY: java-values
java-values: ## compile JavaValues.java into the binary, so that a Java without a compiler runs it; needs a JDK 17
	rm -rf out/java-values && mkdir -p out/java-values
	javac --release 17 -g:none -d out/java-values $(JAVA_VALUES)/JavaValues.java
	jar --create --date=2026-01-01T00:00:00Z --main-class JavaValues --file $(JAVA_VALUES)/JavaValues.jar -C out/java-values .

.PHONY: release
release: java-values ## write out/release/VERSION from a clean checkout of its tag: archives, checksums, image, SBOM, man pages, schemas, notes
	docker/release.sh $(VERSION)

.PHONY: peers
peers: ## build and test another delay queue as a driver program, bin/dq-peer-asynq
	cd harness/driver/peers && $(GO) build -o $(CURDIR)/bin/dq-peer-asynq ./asynq && $(GO) test ./...

.PHONY: test
test: ## run every test; DQ_REQUIRE=redis,docker makes a missing server a failure
	$(GO) test ./...

RACED ?= ./dq ./dq/clock ./harness/driver/... ./harness/internal/load ./harness/internal/ops ./harness/internal/conformance ./internal/redis/...
.PHONY: race
race: ## run the tests of what is concurrent with the race detector: dq, load, conformance, the servers
	$(GO) test -race -run '^$$' $(RACED)
	$(GO) test -race -p 1 $(RACED)

.PHONY: power
power: ## how seldom compare alarms without a difference, and how often compare finds one: the whole studies
	DQ_THOROUGH=1 $(GO) test -count 1 -v -run Study ./harness/internal/compare

.PHONY: nightly
nightly: ## what CI leaves out, in hours: whole tables, all releases of the real Redisson, soak, simulated lives, topologies, other queues
	DQ_THOROUGH=1 $(GO) test -timeout 60m ./...
	$(MAKE) race
	$(MAKE) soak
	$(MAKE) simulate
	$(MAKE) simulated
	$(MAKE) mutants
	$(MAKE) replay
	$(MAKE) topologies
	$(MAKE) peers

SEEDS ?= 10000
FOR ?= 30m
LIMIT ?= 40m
LENGTH ?= 1h
.PHONY: simulate
simulate: ## simulate the life of queues under faults, LENGTH each, for FOR or SEEDS seeds, in two processes; what hangs ends after LIMIT, which is more than FOR
	$(GO) test -c -o bin/simulate.test ./harness/internal/simulate
	@for n in 1 2; do \
		bin/simulate.test -test.timeout $(LIMIT) -test.v -test.run KeepsItsWord -seed $$n -every 2 -seeds $$(($(SEEDS) / 2)) -for $(FOR) -length $(LENGTH) & pids="$$pids $$!"; \
	done; \
	bad=0; for pid in $$pids; do wait $$pid || bad=1; done; exit $$bad

.PHONY: simulated
simulated: ## how much of dq 200 seeds reach, except what follows Sentinel and Cluster: fails below 90 %
	@mkdir -p out
	$(GO) test ./harness/internal/simulate -run KeepsItsWord -coverpkg=./dq,./dq/internal/conn,./dq/scripts -coverprofile out/simulated.cov -args -seeds 200
	@awk '!/^mode|cluster.go|sentinel.go/ {all += $$2; if ($$3) reached += $$2} \
	  END {printf "200 seeds reach %d of %d statements of dq: %.1f %%\n", reached, all, 100 * reached / all; exit reached < 0.9 * all}' out/simulated.cov

.PHONY: mutants
mutants: ## break docs/guides/port.py in 146 ways and dq's commands in 158, and say which verify finds: fails below 95 % of the port's and all of dq's; needs Python and redis-server
	DQ_THOROUGH=1 $(GO) test ./harness/internal/conformance -run MutantsAreKilled -bench Mutants -benchtime 1x

DURATION ?= 10m
.PHONY: soak
soak: ## mixed load with a fault each second for DURATION (10m): every message accounted for, and memory, goroutines and connections flat
	$(GO) test ./dq -run TestLedger -v -timeout 0 -args -soak $(DURATION)

.PHONY: faults
faults: ## have real servers, connections and processes fail under load, dq beside Redisson, asynq and river, into docs/results.md; needs Java, Maven, redis-server, PostgreSQL
	$(GO) test ./harness/internal/lab -run '^$$' -bench Faults -benchtime 1x -timeout 45m
	cd harness/driver/peers && DQ_REDIS=process $(GO) test ./workers -count 1 -parallel 12 -args -results $(CURDIR)/docs/results.md

empty :=
DQ_REDIS_SERVERS ?= $(subst $(empty) $(empty),:,$(wildcard $(CURDIR)/out/servers/*/*-server))

.PHONY: topologies
topologies: ## dq on one server, TLS, ACL, Sentinel, Cluster and so on as real processes, under load with faults, into docs/results.md; also on DQ_REDIS_SERVERS; ONLY='redis 7.*: Cluster' for some
	DQ_REDIS_SERVERS="$(DQ_REDIS_SERVERS)" $(GO) test ./harness/internal/lab -run TestTopologies -parallel 4 -timeout 30m -v -args -only '$(or $(ONLY),.)'

.PHONY: servers
servers: ## fetch redis-server 6.0, 7.0, 8.0, valkey-server 8, 9 and redict-server from Debian into out/servers, for make topologies; needs mmdebstrap
	harness/internal/lab/servers.sh out/servers

SEQUENCES ?= 100000
SEQUENCE ?= 1
.PHONY: embedded
embedded: ## the embedded server against redis-server by SEQUENCES (100,000) random sequences of scripts and commands, from number SEQUENCE (1) on
	$(GO) test ./internal/redis/embedded -run RandomSequences -v -timeout 2h -args -sequences $(SEQUENCES) -seed $(SEQUENCE)

.PHONY: lint
lint: bin/golangci-lint ## go vet and golangci-lint, and whether both go.mod are tidy
	$(GO) mod tidy -diff
	cd harness/driver/peers && $(GO) mod tidy -diff
	$(GO) vet ./...
	bin/golangci-lint run
	cd harness/driver/peers && $(CURDIR)/bin/golangci-lint run

bin/golangci-lint: Makefile
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@touch $@

VULN_DB ?= https://vuln.go.dev
.PHONY: vuln
vuln: bin/govulncheck ## the known vulnerabilities of what the code and its tests call; VULN_DB=file:///folder for a copy of Go's database
	bin/govulncheck -db $(VULN_DB) -test ./...

bin/govulncheck: Makefile
	GOBIN=$(CURDIR)/bin $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	@touch $@

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

.PHONY: bench
bench: ## measure claims of speed, as ratios of two sides in one run
	$(GO) test ./dq -run '^$$' -bench 'Backlog|Burst|LongQueue|Cancel|Turns|Takeover|Offer' -benchtime 1x -timeout 20m
	cd harness/driver/peers && DQ_REDIS=process $(GO) test ./asynq -run '^$$' -bench Handled -benchtime 1x

.PHONY: bench-report
bench-report: ## measure every claim of speed, in 15 minutes at most, into docs/results.md; needs a machine that does nothing else
	$(GO) test ./harness/internal/lab -run '^$$' -bench Performance -benchtime 1x -timeout 45m

GATE_RUNS ?= 6
BASE ?= $(shell git describe --tags --abbrev=0 2>/dev/null)

.PHONY: scenarios
scenarios: build ## run every shipped scenario with every variant: fails where one is not passed; half an hour on a machine that does nothing else
	@bad=0; for file in scenarios/load/*.yaml scenarios/fault/*.yaml; do \
	  bin/dq-bench run -f "$$file" --redis process --progress none --out "out/scenarios/$$(basename "$$file" .yaml)" > /dev/null || bad=$$?; \
	done; \
	bin/dq-bench run --list | awk '/^[^ ]/ {s=$$1} /^ \*/ {print s, $$2}' > out/on-demand; while read -r name variant; do \
	  bin/dq-bench run -f "$$name" --variant "$$variant" --redis process --progress none --out "out/scenarios/$$name-$$variant" > /dev/null < /dev/null || bad=$$?; \
	done < out/on-demand; exit $$bad

.PHONY: bench-load
bench-load: build ## processor time of dq-bench and of its agent at 1,000/s and 10,000/s; needs a machine that does nothing else
	for rate in 1k/s 10k/s; do bin/dq-bench run --redis process --rate $$rate --duration 20s --delay 1s --progress none --out "out/bench-load/$$(date +%s)" | grep -E 'msg/s|^(dq-bench|program) '; done

.PHONY: bench-gate
bench-gate: build ## dq as it is against dq of BASE (the last tag), by turns on one machine: fails if it is later, dearer or loses more; GATE_RUNS (6) turns of a minute and a half
	@case "$(GATE_RUNS)" in ''|*[!0-9]*|0|1|2|3|4|5) echo "bench-gate: expected GATE_RUNS to be 6 or more, for fewer tell nothing; got '$(GATE_RUNS)'" >&2; exit 2; esac
	@git rev-parse --verify --quiet "$(BASE)^{tree}" > /dev/null || test -z "$(BASE)" || { echo "bench-gate: expected BASE to be a commit or a tag, got '$(BASE)'" >&2; exit 2; }
	@test -n "$(BASE)" || { echo "bench-gate: no release is tagged; name what to compare with, as in 'make bench-gate BASE=HEAD~20'" >&2; exit 2; }
	rm -rf out/gate && mkdir -p out/gate/source
	git archive "$(BASE)" | tar -x -C out/gate/source
	cd out/gate/source && $(GO) build -o ../base ./cmd/dq-bench
	rm -r out/gate/source
	@set -e; side() { \
	  $$1 run --driver dq --rate 2000/s --duration 6s --delay 1s --progress none --out out/gate/steady/$$2/$$n > /dev/null || test $$? = 99; \
	  $$1 run --driver dq -f backlog --variant random-10k --progress none --out out/gate/backlog/$$2/$$n > /dev/null || test $$? = 99; }; \
	for n in $$(seq $(GATE_RUNS)); do \
	  echo "bench-gate: turn $$n of $(GATE_RUNS)" >&2; \
	  if [ $$((n % 2)) = 1 ]; then side out/gate/base old; side bin/dq-bench new; else side bin/dq-bench new; side out/gate/base old; fi; \
	done
	@bad=0; for plan in steady backlog; do bin/dq-bench compare out/gate/$$plan/old out/gate/$$plan/new --report out/gate/$$plan.html || bad=$$?; done; exit $$bad

.PHONY: judge-servers
judge-servers: servers ## dq's verdict on the embedded server and each of make servers, into out/judged
	mkdir -p out/judged
	for s in embedded $(patsubst %,process:%,$(wildcard $(CURDIR)/out/servers/*/*-server)); do \
	  $(GO) run ./cmd/dq-bench verify --subject server --redis $$s --report out/judged/$$(basename $$(dirname $$s)).html || true; done

.PHONY: growth
growth: ## what a queue costs as it grows to 5,000,000 pending messages (2 GB), and 10,000 queues, into docs/results.md; needs a machine that does nothing else
	$(GO) test ./harness/internal/lab -run '^$$' -bench Growth -benchtime 1x -timeout 90m

.PHONY: compare-releases
compare-releases: ## lateness over Redisson releases and dq, and of one release beside itself, into out/latency; needs Java, Maven, redis-server
	$(GO) run ./cmd/dq-bench run -f steady --repeat 6 --redis process --out out/latency --report out/latency.html \
	  --driver redisson:3.16.6 --driver redisson:3.16.6 --driver redisson:3.21.1 --driver redisson:4.7.0 --driver dq

.PHONY: replay
replay: ## send the documents' recordings to a server and compare
	$(GO) run ./cmd/dq-bench replay recordings/documents/*.monitor

CHROMIUM ?= chromium
SCREENSHOT_OLD ?= out/r/redisson-4.7.0
SCREENSHOT_NEW ?= out/r/dq

.PHONY: screenshots
screenshots: build ## draw docs/report.png from the runs in SCREENSHOT_OLD and SCREENSHOT_NEW
	bin/dq-bench compare --report out/report-picture.html $(SCREENSHOT_OLD) $(SCREENSHOT_NEW)
	@mkdir -p docs
	profile=$$(mktemp -d) && trap 'rm -rf "$$profile"' EXIT && \
	$(CHROMIUM) --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
	  --disable-component-update --disable-sync --user-data-dir="$$profile" --hide-scrollbars --window-size=1280,1420 \
	  --screenshot=$(CURDIR)/docs/report.png file://$(CURDIR)/out/report-picture.html

.PHONY: adopt
adopt: ## take in Redisson RELEASE: record the release, fold the recordings, say what changed, count verdicts, write docs/spec; needs Java, Maven and redis-server
	@[ -n "$(RELEASE)" ] || { echo 'expected RELEASE=4.8.0' >&2; exit 2; }
	@grep -qxF '$(RELEASE)' dq/wire/releases.txt || { echo '$(RELEASE)' >>dq/wire/releases.txt; sort -V -o dq/wire/releases.txt dq/wire/releases.txt; }
	rm -rf out/$(RELEASE) && $(GO) run ./cmd/dq-bench record --driver redisson:$(RELEASE) --redis process --out out/$(RELEASE)
	-previous=$$(head -n 1 recordings/redisson/index.tsv | tr '\t' '\n' | tail -n +2 | grep -vxF '$(RELEASE)' | tail -n 1); \
	  $(GO) run ./cmd/dq-bench diff recorded:$$previous out/$(RELEASE)
	$(GO) test ./harness/internal/lab -count 1 -run Fold -args -fold $(RELEASE)=out/$(RELEASE)
	@for driver in dq redisson; do \
	  $(GO) run ./cmd/dq-bench verify --driver $$driver:$(RELEASE) --level wire --redis process --run '^D?Q' >out/$(RELEASE)/$$driver.txt; [ $$? -lt 2 ] || cat out/$(RELEASE)/$$driver.txt; \
	  awk -v row='$(RELEASE)\twire\t'$$driver '/ passed, .* skipped/ { gsub(",", ""); print row "\t" $$1 "\t" $$9 "\t" $$3 }' out/$(RELEASE)/$$driver.txt >>recordings/counts.tsv; \
	done; awk '!seen[$$1 $$2 $$3]++' recordings/counts.tsv >out/counts.tsv && mv out/counts.tsv recordings/counts.tsv
	$(MAKE) spec

.PHONY: spec
spec: ## write the table and the vectors of docs/spec from the catalogue and the recordings
	$(GO) test ./harness/internal/lab -run Spec -args -update

.PHONY: images
images: ## build the Redis image from Debian packages, without a registry
	docker/build-local.sh
