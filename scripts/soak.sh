#!/usr/bin/env bash
# The long test: property tests with many more cases, then the quickstart over and over, each time with another seed.
# Ends at the first run that does not pass, and names its folder. MINUTES of quickstart runs, 30 if not given.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-30}
target=${CARGO_TARGET_DIR:-target}

echo "soak: property tests with 20,000 cases each"
PROPTEST_CASES=20000 cargo test --release --workspace --quiet

cargo build --release --quiet --bin lockbench
scenario=$(mktemp)
trap 'rm -f "$scenario"' EXIT
deadline=$((SECONDS + minutes * 60))
seed=0
while [ "$SECONDS" -lt "$deadline" ]; do
  seed=$((seed + 1))
  { echo "seed: $seed"; grep -v '^seed:' scenarios/quickstart.yaml; } >"$scenario"
  echo "soak: quickstart with seed $seed"
  "$target/release/lockbench" run "$scenario" --out runs/soak --quiet >/dev/null || {
    status=$?
    echo "soak: seed $seed ended with exit code $status; see runs/soak/latest" >&2
    exit "$status"
  }
done
echo "soak: $seed runs passed"
