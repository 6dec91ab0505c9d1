#!/usr/bin/env bash
# Commands per second of `redis-lua` (lock-only, own keys, 16 workers in one instance, history on) against
# redis-benchmark and against a bare loop over the same client, in alternating rounds on one server.
#
# redis-benchmark sends one kind of command in a tight C loop; lockbench sends the pair SET NX PX + EVALSHA, with an
# owner value of its own for each, and records seven events. The harmonic mean of redis-benchmark's two rates is the
# rate at which it would send the same mixture.
. "$(dirname "$0")/lib.sh"
rounds=${1:-7}
cargo build --release --quiet --manifest-path "$root/Cargo.toml" --bin lockbench --example bare_loop
start_server
cat >"$work/commands.yaml" <<YAML
name: commands per second
strategies: [redis-lua]
workloads:
  - lock-only: { pick: own, hold: 0ms }
load: [closed]
clients: { agents: 1, instances: 1, workers: 16 }
lock: { lease: 10s, patience: 1s }
warmup: 500ms
measure: 4s
trials: 1
controls: false
gates: []
backends:
  redis: "redis://127.0.0.1:$port"
YAML
sha=$(redis-cli -p "$port" script load "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end")

# requests_per_second COMMAND...: what redis-benchmark reports for one command with 16 connections.
requests_per_second() {
  redis-benchmark -p "$port" -c 16 -n 300000 --csv "$@" | tail -1 | cut -d, -f2 | tr -d '"'
}

echo "round  lockbench  redis-benchmark  bare-loop  (commands/s)"
for round in $(seq "$rounds"); do
  set_rate=$(requests_per_second SET perf:__rand_int__ owner NX PX 10000)
  eval_rate=$(requests_per_second EVALSHA "$sha" 1 perf:none owner)
  reference=$(python3 -c "print(2 / (1 / $set_rate + 1 / $eval_rate))")
  measure "$work/commands.yaml"
  ours=$(figure '2 * cell["throughput"]["median"]')
  bare=$("$root/target/release/examples/bare_loop" "redis://127.0.0.1:$port" 16 4)
  bare=$((bare * 2))
  printf '%5d  %9.0f  %15.0f  %9.0f\n' "$round" "$ours" "$reference" "$bare"
  python3 -c "print($ours / $reference)" >>"$work/against-benchmark"
  python3 -c "print($ours / $bare)" >>"$work/against-bare"
done
echo "lockbench / redis-benchmark (at least 1.2): $(median_and_range <"$work/against-benchmark")"
echo "lockbench / bare loop (at least 0.95):      $(median_and_range <"$work/against-bare")"
