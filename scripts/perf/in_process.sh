#!/usr/bin/env bash
# Ten million grants of a lock that cannot be wrong: any violation would be ours.
. "$(dirname "$0")/lib.sh"
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --bin lockbench
cat >"$work/in-process.yaml" <<YAML
name: ten million grants
strategies: [control-in-process]
workloads:
  - lock-only: { keys: 4, pick: uniform, hold: 0ms }
load: [closed]
clients: { agents: 1, instances: 2, workers: 8 }
lock: { lease: 10s, patience: 10s }
warmup: 0s
measure: ${1:-30s}
trials: 1
keep: violations
controls: false
gates: []
YAML
measure "$work/in-process.yaml"
echo "grants (at least 10,000,000): $(figure 'cell["outcomes"]["granted"]')"
echo "mutual-exclusion (0 violations): $(figure 'cell["violations"]["mutual-exclusion"]')"
echo "verdict: $(figure 'cell["verdict"]')"
