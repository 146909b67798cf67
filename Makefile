# One place for everything that is done to this repository. `make run` to try it, `make test` before a change goes in.
SHELL := /usr/bin/env bash
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/drawbridge/target
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/drawbridge/tools
export PATH := $(TOOLS)/bin:$(PATH)

.PHONY: setup run test bench package fmt lint ui

setup:
	@TOOLS="$(TOOLS)" scripts/setup.sh

ui: setup
	@cd ui && npm run --silent build

run: export SETUP_FOR := run
run: ui
	@cargo build --locked -p drawbridge-cli -p drawbridge-desktop
	@scripts/run.sh

test: setup
	@scripts/test.sh

bench: ui
	@cargo build --locked --release -p drawbridge-cli -p drawbridge-desktop -p drawbridge-bench
	@"$(CARGO_TARGET_DIR)/release/drawbridge-bench"

package: export SETUP_FOR := package
package: ui
	@scripts/package.sh

fmt:
	@cargo fmt --all

lint: ui
	@cargo fmt --all --check && cargo clippy --locked --workspace --all-targets -- -D warnings && cd ui && npm run --silent check
