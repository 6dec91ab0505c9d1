# What a newcomer types. `make help` lists it.

target := $(or $(CARGO_TARGET_DIR),target)
lockbench := $(target)/release/lockbench

.PHONY: help setup build bench test check perf soak

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

setup: ## Install what is missing; says what it does
	@scripts/setup

build: setup ## Build the binary lockbench
	cargo build --release --locked --bin lockbench

bench: build ## Measure and judge native Redis locks under a flash sale, and print the matrix
	$(lockbench) run scenarios/quickstart.yaml

test: setup ## Every test, against real servers
	cargo test --workspace --locked

check: ## Format, lints, documentation and the rules of the house
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	cargo test -p bench-runner --locked --test tidy

perf: build ## Measure lockbench itself (docs/performance.md); an idle machine, python3
	cargo bench --workspace --locked --bench '*'
	@set -e; for script in scripts/perf/*.sh; do \
	  case $$script in */lib.sh) continue;; esac; \
	  echo "== $$script"; bash "$$script"; \
	done

soak: build ## The long test: half an hour of runs with other seeds
	bash scripts/soak.sh
