#!/usr/bin/env bash
# The freeze test: the server stands still for the second half of a 10 s measurement under a constant load. An honest
# load generator then reports what users felt: of the operations that were due while it stood still, the waits are
# spread evenly between 0 and 5 s. A generator that counts from the actual start reports next to nothing.
. "$(dirname "$0")/lib.sh"
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --bin lockbench
start_server
cat >"$work/freeze.yaml" <<YAML
name: freeze
strategies:
  - redis-lua: { response-timeout: 30s }
workloads:
  - lock-only: { keys: 100000, pick: uniform, hold: 0ms }
load:
  - constant: { rate: 1000/s, arrivals: uniform }
clients: { agents: 1, instances: 1, workers: 256 }
lock: { lease: 60s, patience: 30s }
warmup: 1s
measure: 10s
trials: 1
controls: false
gates: []
backends:
  redis: "redis://127.0.0.1:$port"
YAML
mkdir "$work/runs"
"$lockbench" run "$work/freeze.yaml" --out "$work/runs" --quiet >"$work/matrix.txt" 2>"$work/errors.txt" &
bench=$!
# The load is on as soon as the server sees commands in quantity; then one second of warm-up is left to pass.
until [ "$(redis-cli -p "$port" info stats | tr -d '\r' | awk -F: '$1 == "total_commands_processed" {print $2}')" -gt 2500 ]; do
  sleep 0.01
done
sleep 4
kill -STOP "$server_pid"
sleep 5
kill -CONT "$server_pid"
wait "$bench" || true
run_json=$work/runs/latest/run.json
python3 - "$run_json" <<'PYTHON'
import json
import sys

cell = json.load(open(sys.argv[1]))["cells"][0]
response = cell["response_us"]["granted"]
window, frozen = 10.0, 5.0
print(f"granted {response['count']}, of {cell['offered'] * window:.0f} due")
for name, share in (("p90", 0.90), ("p99", 0.99)):
    expected = frozen * 1e6 * (1 - (1 - share) * window / frozen)
    measured = response[name]
    print(f"{name}: measured {measured / 1e6:.3f} s, analytic {expected / 1e6:.3f} s, off by {100 * (measured / expected - 1):+.1f} % (within 5 %)")
print(f"p50: measured {response['p50']:.0f} µs (half of the operations met a live server)")
PYTHON
