#!/usr/bin/env bash
# Memory of the agents with 5,000 workers on 50 connections, without the mapped history (anonymous memory only).
. "$(dirname "$0")/lib.sh"
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --bin lockbench
start_server
cat >"$work/memory.yaml" <<YAML
name: five thousand workers
strategies:
  - redis-lua: { connections: { shared: 50 } }
workloads:
  - lock-only: { pick: own, hold: 1ms }
load: [closed]
clients: { agents: 1, instances: 1, workers: 5000 }
lock: { lease: 60s, patience: 10s }
warmup: 1s
measure: 5s
trials: 1
controls: false
gates: []
backends:
  redis: "redis://127.0.0.1:$port"
YAML
mkdir "$work/runs"
"$lockbench" run "$work/memory.yaml" --out "$work/runs" --quiet >"$work/matrix.txt" 2>"$work/errors.txt" &
bench=$!
peak=0
while kill -0 "$bench" 2>/dev/null; do
  sum=0
  for pid in $(pgrep -P "$bench" || true); do
    if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q ' agent'; then
      anonymous=$(awk '$1 == "RssAnon:" {print $2}' "/proc/$pid/status" 2>/dev/null || echo 0)
      sum=$((sum + ${anonymous:-0}))
    fi
  done
  if [ "$sum" -gt "$peak" ]; then peak=$sum; fi
  sleep 0.1
done
wait "$bench" || true
run_json=$work/runs/latest/run.json
echo "grants per second: $(figure 'round(cell["throughput"]["median"])')"
echo "anonymous memory of all agents (at most 100 MiB): $((peak / 1024)) MiB"
