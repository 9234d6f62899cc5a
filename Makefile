# make test and make demo are all a newcomer needs; both work in a fresh clone.

GO ?= go

.PHONY: test
test: ## everything but the demo: vet, layers, unit, property, differential and upstream's own tests
	@echo "building (the first time takes a few minutes: Volcano and Kubernetes are compiled) ..."
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags invariants ./index
	$(GO) test -timeout 30m ./...
	$(GO) test -timeout 10m -tags invariants ./index ./plugin -run 'TestDifferential|Test.*Against' -args -clusters 100

.PHONY: differential
differential: ## the comparison with upstream on 10,000 random clusters per plugin
	$(GO) test ./plugin -run TestDifferential -v -timeout 60m -args -clusters 10000
