#!/usr/bin/env bash
# The pacer at 5,000 operations per second on an idle machine: its own lateness, its CPU, and whether it kept the schedule.
. "$(dirname "$0")/lib.sh"
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --bin lockbench
start_server
cat >"$work/pacer.yaml" <<YAML
name: pacer
strategies: [redis-lua]
workloads:
  - lock-only: { keys: 1000, pick: uniform, hold: 0ms }
load:
  - constant: { rate: 5000/s, arrivals: poisson }
clients: { agents: 1, instances: 1, workers: 64 }
lock: { lease: 10s, patience: 1s }
warmup: 1s
measure: 10s
trials: 3
controls: false
gates: []
backends:
  redis: "redis://127.0.0.1:$port"
YAML
measure "$work/pacer.yaml"
echo "pacer-lag p99 (at most 200 µs): $(figure 'cell["pacer_lag_us"]["p99"]') µs"
echo "generator CPU (at most 0.4 core): $(figure 'round(cell["cost"]["agent_cpu_us_per_grant"] * cell["throughput"]["median"] / 1e6, 3)') core"
echo "achieved against scheduled (within 0.5 %): $(figure 'round(sum(cell["outcomes"].values()) / (cell["offered"] * 10 * cell["trials"]), 5)')"
