# `make help` lists the targets: the text after ## is their help.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0-dev)
FUZZTIME ?= 30s
BENCHTIME ?= 1s
BENCHFLAGS ?=
SCALE ?= workers,backlog,replicas,backends,inflight
STATICCHECK := $(GO) tool -modfile=tools/go.mod staticcheck
NATS_CLI := build/tools/nats
SERVERS := build/foreign/servers

.PHONY: help build test race fuzz lint soak delivery bench scale pipelines foreign collector page charts manifests docs man site prices demo check clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-9s %s\n", $$1, $$2}'

build: ## the program, static, to build/emend
	CGO_ENABLED=0 $(GO) build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$(VERSION)" -o build/emend ./cmd/emend

test: ## all tests, without a network
	$(GO) test ./...

race: ## all tests under the race detector
	$(GO) test -race ./...

fuzz: ## every fuzz target for FUZZTIME (30s)
	@mkdir -p build; $(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ {n[++k] = $$1} /^ok/ {for (i = 1; i <= k; i++) print $$2, n[i]; k = 0}' > build/fuzz.txt
	@test -s build/fuzz.txt || { echo "no fuzz target was found"; exit 1; }
	@while read -r pkg name; do \
	  echo "$$pkg $$name"; \
	  bash tools/fuzz.sh "$$pkg" "$$name" $(FUZZTIME) </dev/null; \
	done < build/fuzz.txt

lint: ## go vet, gofmt, staticcheck, go fix -diff
	$(GO) vet ./...
	@bad=$$(gofmt -l .); test -z "$$bad" || { echo "gofmt -w these:"; echo "$$bad"; exit 1; }
	$(STATICCHECK) ./...
	$(GO) fix -diff ./...

bench: ## the machine, the benchmarks (BENCHTIME, 1s), then Emend beside a bare loop (BENCHFLAGS)
	@grep -m1 'model name' /proc/cpuinfo | sed 's/.*: /cpu    /'; echo "cores  $$(nproc)"; \
	 awk '/MemTotal/ {printf "memory %.0f GiB\n", $$2 / 1048576}' /proc/meminfo; echo "kernel $$(uname -sr)"; $(GO) version | sed 's/^go version /go     /'
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -p 1 ./engine/... ./capacity | grep -v -e '^PASS' -e 'no test files'
	@mkdir -p build
	$(GO) run ./integration/bench $(BENCHFLAGS)

pipelines: ## bench: a pipeline's jobs beside plain runs, four workers, and a coordinator's memory (BENCHFLAGS)
	$(GO) run ./integration/bench/pipelines $(BENCHFLAGS)

scale: ## workers, backlog, replicas, backends, runs in flight (SCALE names some), about 8 minutes
	@mkdir -p build
	$(GO) run ./integration/bench -scale $(SCALE) -o build/scale.json

soak: build ## ten minutes of mixed load with faults and kills, then the ledger (SOAKFLAGS)
	./build/emend torture --for 10m --workers 3 --rate 60 --kill-every 7s $(SOAKFLAGS)

delivery: ## what a delivery costs: the ledger, a checkpoint, heartbeats, and a million queued runs
	$(GO) test -run '^$$' -bench 'Find|Save|Heartbeats' -benchmem -benchtime $(BENCHTIME) ./consumer
	$(GO) test -count=1 -v -run TestBacklogCostsAWorkerNoMemory ./integration -backlog 1000000

foreign: build $(NATS_CLI) ## the official NATS clients against a worker, and the dialects against foreign mock servers
	npm ci --prefix integration/foreign --no-audit --no-fund --loglevel=error
	@mkdir -p $(SERVERS) && cp integration/foreign/servers/package.json integration/foreign/servers/package-lock.json $(SERVERS)/
	npm ci --prefix $(SERVERS) --ignore-scripts --no-audit --no-fund --loglevel=error
	EMEND=$(CURDIR)/build/emend NATS=$(CURDIR)/$(NATS_CLI) SERVERS=$(CURDIR)/$(SERVERS) $(GO) test -count=1 -timeout 5m -tags foreign ./integration/foreign/

page: ## the page in a headless Chromium (Debian's package chromium); pictures of every view go to build/page
	$(GO) vet -tags page ./integration
	SHOTS=$(CURDIR)/build/page $(GO) test -count=1 -timeout 10m -tags page -run '^TestPage' ./integration

charts: ## the Helm chart, rendered as helm does and read as Kubernetes does
	cd tools/charts && $(GO) vet ./... && $(GO) test -count=1 ./...

manifests: ## deploy/kubernetes/emend.yaml, from the chart
	cd tools/charts && $(GO) test -count=1 -run TestManifestsAreCurrent . -update

docs: ## the pages of docs/ that the code writes
	$(GO) test ./integration -run Docs -update
	$(GO) test ./cmd/emend -run CommandLinePage -update
	$(GO) test ./internal/telemetry -run MetricsPage -update

site: ## a web site of the documents, to build/site
	cd tools/site && $(GO) vet ./... && $(GO) test ./...
	cd tools/site && $(GO) run . -root ../.. -out ../../build/site

man: build ## manual pages to build/man
	./build/emend man build/man

$(NATS_CLI): tools/natscli/go.mod tools/natscli/go.sum
	$(GO) build -modfile=tools/natscli/go.mod -o $@ github.com/nats-io/natscli/nats

collector: ## traces against a real OpenTelemetry collector's receiver; a module of its own
	cd integration/collector && $(GO) vet ./... && $(GO) test -count=1 -timeout 5m ./...

prices: ## internal/prices/prices.json of today, from npm @pydantic/genai-prices; needs Node and npm
	cd tools/prices && npm install --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error @pydantic/genai-prices@latest
	cd tools/prices && node generate.cjs "$$(date -u +%F)" > ../../internal/prices/prices.json
	$(GO) test ./internal/prices

demo: ## three runs in one process, about four seconds
	$(GO) run ./cmd/emend demo

check: lint test race ## what a change must pass before it is shown; .ci/run adds fuzz and foreign

clean: ## remove what was built
	rm -rf build integration/foreign/node_modules
