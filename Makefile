# The targets that people use: run, test, bench, lint, soak. Everything else
# here is a part of one of them.

GO       ?= go
BIN      := bin/gazetteer
export CGO_ENABLED ?= 0
# gin can read and write MessagePack, which nobody asks for: a package of 100,000 lines.
export GOFLAGS ?= -tags=nomsgpack

.DEFAULT_GOAL := help
.PHONY: help run build install package tools test lint format tests tooltests installed browser demo lighthouse bench soak

help: ## what each target does
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

run: build ## crawl a small internet on loopback and serve what was found
	@$(BIN) demo $(ARGS)

build: ## build bin/gazetteer (the first build takes one to three minutes)
	@mkdir -p bin
	$(GO) build -buildvcs=auto -o $(BIN) ./cmd/gazetteer

tools: ## build bin/gazetteer-bench, which measures search
	@mkdir -p bin
	$(GO) -C tools build -o ../bin/ ./gazetteer-bench

install: ## install gazetteer and gazlint where go installs programs
	$(GO) install -trimpath -buildvcs=auto ./cmd/gazetteer ./cmd/gazlint

package: ## write dist/: archives with programs for Linux and macOS, and their checksums
	@.ci/package

# The network is waited for while the linters work.
test: ## everything the gate runs
	@$(MAKE) --no-print-directory --output-sync=target -j2 lint installed
	@$(MAKE) --no-print-directory tests tooltests demo

# The analyzers of go vet and staticcheck, of all three modules, in one process. It takes less
# processor time with a larger heap.
lint: format ## formatting, the analyzers of go vet and staticcheck, tidy modules
	$(GO) -C .ci build -o ../bin/analyze ./analyze
	GOGC=400 GOMEMLIMIT=3GiB bin/analyze -planted .ci/analyze/testdata . tools .ci
	$(GO) mod verify
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff

format:
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); if [ -n "$$bad" ]; then echo "not formatted (gofmt -w fixes it):"; echo "$$bad"; exit 1; fi

# What runs under the race detector, which needs cgo, and what does not: see .ci/tests.
# The browser walk is a test of package web: it skips itself, loudly, where there is no
# Chromium.
tests:
	@GO='$(GO)' .ci/tests

# The generators of the embedded tables and gazetteer-bench are a module of their
# own, so that the product's go.mod is free of what only they need. Their results are
# never taken from the cache, which does not see changes of files outside their module.
tooltests:
	$(GO) -C tools test -count=1 ./...

installed:
	@.ci/install

browser: installed ## walk through the pages in Chromium, with SCREENSHOTS=DIR to look at them
	REQUIRE_BROWSER=1 $(GO) test -count=1 -run 'BrowserWalk' ./web

demo: build ## the whole program end to end on loopback
	$(BIN) demo --once

lighthouse: build ## Lighthouse on the six main pages of the demo (about two minutes)
	@.ci/lighthouse

bench: ## benchmarks, as ratios against a reference in the same run
	$(GO) test -run '^$$' -bench . -benchtime 1s ./store/boltstore ./crawler ./index ./api ./document ./registry/registrar \
		./protocol/agis ./protocol/aidiscovery ./lint/repair ./protocol/a2a ./protocol/jcs ./document/diff ./relay/boltqueue ./toolhost/hosthttp
	$(GO) test -run '^$$' -bench Accept -benchtime 25600x ./relay
	$(GO) test -count=1 -v -run 'Figures|Labeled' ./protocol/agis ./protocol/effect

soak: ## the long forms: kill -9 loops, a crawl of 20,000 hosts, and fuzzing
	MEMORY_HOSTS=5000 $(GO) test -count=1 -timeout 60m -v -run 'TestMemoryOfACrawl' ./internal/privatenet
	PRIVATE_HOSTS=2000 $(GO) test -count=1 -timeout 60m ./internal/privatenet
	SIEGE=2000 $(GO) test -count=1 -timeout 60m -v -run 'TestSiege' ./internal/privatenet
	CONNECTIONS=10000 $(GO) test -count=1 -timeout 60m -v -run 'TestIdleConnectionMemory' ./cmd/gazetteer
	BACKUP_MB=1000 $(GO) test -count=1 -timeout 60m -v -run 'TestBackupFigures' ./internal/backup
	CRAWL_HOSTS=20000 $(GO) test -count=1 -timeout 60m -run 'TestInternet$$' ./crawler
	KILLS=200 HOSTS=20000 $(GO) test -count=1 -timeout 60m -run 'Kill' ./index ./cmd/gazetteer
	PAUSE=7s $(GO) test -count=1 -v -timeout 10m -run 'StoppedCrawl' ./cmd/gazetteer
	KILLS=200 FLIPS=1000000 TOMBSTONES=2000000 $(GO) test -count=1 -timeout 240m -run 'File$$/kill|Flip|Tombstones' ./store/boltfile ./store/boltstore
	FLIPS=20000 $(GO) test -count=1 -v -timeout 180m -run 'TestBitFlipsInEveryFile' ./internal/server
	FLIPS=1000000 $(GO) test -count=1 -v -timeout 240m -run 'FlippedBitsInLog' ./registry/audit
	SUBSCRIBERS=1000 $(GO) test -count=1 -timeout 60m -v -run 'SubscribersThatNeverRead' ./api
	SERVICES=100000 $(GO) test -timeout 60m -run '^$$' -bench Write -benchtime 1x ./census
	SERVICES=100000 $(GO) test -timeout 60m -run '^$$' -bench CensusPages -benchtime 1x ./web
	ITEMS=1000000 $(GO) test -timeout 60m -run '^$$' -bench Page ./changefeed
	ENVELOPES=100000 KILLS=20 $(GO) test -count=1 -timeout 60m -run 'KillsLoseNoMail' ./relay/relayhttp
	FLOOD=10000 SLOW_PUSHERS=500 WAITING=100000 $(GO) test -count=1 -timeout 60m -v -run 'FloodsDoNotAffect|SlowPushers|ReaderThatStops' ./relay/relayhttp
	KILLS=200 $(GO) test -count=1 -timeout 60m -run 'File$$/kill' ./relay/boltqueue ./mailbox
	ALTAR_KILL_TIME=60s $(GO) test -count=1 -timeout 60m -run 'RuntimesDieUnderLoad' ./toolhost/hosthttp
	.ci/fuzz 10m protocol/jcs protocol/did protocol/a2a mailbox
	.ci/fuzz 60s
