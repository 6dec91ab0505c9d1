# Shared by the scripts of `make perf`: a private redis-server, a scenario from a template, a figure out of run.json.
# Source it; it needs redis-server, redis-cli, redis-benchmark and python3.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lockbench=$root/target/release/lockbench
work=$(mktemp -d)
server_pid=

stop_server() {
  if [ -n "$server_pid" ]; then
    kill -CONT "$server_pid" 2>/dev/null || true
    kill "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
    server_pid=
  fi
}

clean_up() {
  stop_server
  rm -rf "$work"
}
trap clean_up EXIT

# start_server: a redis-server without persistence on a free loopback port, in $port.
start_server() {
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  redis-server --bind 127.0.0.1 --port "$port" --save "" --appendonly no --dir "$work" --daemonize no \
    --logfile "$work/redis.log" &
  server_pid=$!
  for _ in $(seq 100); do
    if redis-cli -p "$port" ping >/dev/null 2>&1; then return; fi
    sleep 0.05
  done
  echo "redis-server did not answer on port $port; its log:" >&2
  cat "$work/redis.log" >&2
  exit 3
}

# measure SCENARIO: runs it quietly; the path of its run.json is in $run_json.
measure() {
  rm -rf "$work/runs"
  mkdir "$work/runs"
  "$lockbench" run "$1" --out "$work/runs" --quiet >"$work/matrix.txt" 2>"$work/errors.txt" || {
    status=$?
    if [ $status -gt 1 ]; then
      cat "$work/errors.txt" >&2
      exit $status
    fi
  }
  run_json=$(echo "$work"/runs/latest/run.json)
}

# figure EXPRESSION: evaluates a Python expression over `run` (run.json) and `cell` (its first cell).
figure() {
  python3 -c 'import json, sys
run = json.load(open(sys.argv[1]))
cell = run["cells"][0]
print(eval(sys.argv[2]))' "$run_json" "$1"
}

# median_and_range: of the numbers on standard input.
median_and_range() {
  python3 -c 'import statistics, sys
values = [float(line) for line in sys.stdin]
print(f"median {statistics.median(values):.3f}, range {min(values):.3f} to {max(values):.3f}, n = {len(values)}")'
}
