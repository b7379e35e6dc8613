#!/usr/bin/env bash
# Static analysis: clang-tidy over our sources (as .clang-tidy says), then the style checks. Called by ./dev lint [deep]. The
# last line is `N passed, N failed`. The analyzer follows a function's paths for so many nodes, a tenth of what it would
# (an eighth of the time); `deep` gives it all.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
LIMIT_SECONDS=150
PATHS=(--extra-arg={-Xclang,-analyzer-config,-Xclang,max-nodes=20000})
case ${1:-} in
"") ;;
deep) PATHS=() LIMIT_SECONDS=3600 ;;
*)
    echo "usage: ./dev lint [deep]" >&2
    exit 2
    ;;
esac
mkdir -p build/logs
good=0 bad=0

cmake --preset dev >/dev/null || exit 1
tidy() {
    sources=$(git ls-files -co --exclude-standard -- 'config/*.c' 'engine/*.c' 'kernels/*.c' 'server/*.c')
    # shellcheck disable=SC2086 # one word a file: our names have no spaces
    timeout "$LIMIT_SECONDS" xargs -P "$(nproc)" -n 4 clang-tidy -p build --quiet "${PATHS[@]}" --warnings-as-errors='*' <<<$sources
}
if tidy >build/logs/tidy.log 2>&1; then
    good=$((good + 1))
else
    echo "FAIL: clang-tidy, see build/logs/tidy.log"
    grep -E '(warning|error):' build/logs/tidy.log | sort -u | head -n 60
    bad=$((bad + 1))
fi
style=$(tests/style/run.sh)
echo "$style"
counts=$(tail -n 1 <<<"$style")
good=$((good + ${counts%% *}))
counts=${counts#*, }
bad=$((bad + ${counts%% *}))
echo "$good passed, $bad failed"
((bad == 0))
