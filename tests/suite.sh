#!/usr/bin/env bash
# All tests, stage by stage; called by ./dev test. Each stage writes build/logs/STAGE.log and ends with its counts; the last
# line of all is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=suppressions=$PWD/tests/race/suppressions.txt
PYTHON=/usr/bin/python3
LOGS=build/logs
passed=0 failed=0
mkdir -p "$LOGS"

# Runs a command as a stage and adds up the counts of its last line.
stage() {
    local name=$1 log=$LOGS/$1.log began=$SECONDS counts
    shift
    "$@" >"$log" 2>&1
    local code=$?
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    local good=${counts%% *} bad=${counts#*, }
    good=${good:-0} bad=${bad%% *}
    bad=${bad:-0}
    if ((code != 0 && bad == 0)); then
        bad=1
    fi
    passed=$((passed + good)) failed=$((failed + bad))
    printf '%-20s %4d passed, %d failed (%d s)\n' "$name" "$good" "$bad" $((SECONDS - began))
    if ((bad > 0)); then
        echo "--- of $log"
        { sed -n '/^=== failed above:/,$p' "$log" | grep . || tail -n 60 "$log"; } | head -n 200 | sed 's/^/  | /'
        echo "---"
    fi
    ((bad == 0))
}

# Configures and builds targets of a preset: all, if none are named.
build() {
    cmake --preset "$1" && cmake --build --preset "$1" --target "${@:2}" && echo "1 passed, 0 failed"
}

# Most of an integration test is waiting. So the presets of the later stages are built meanwhile, in the order of their
# stages, by processes that run only where nobody else wants to. Each leaves its exit status beside its log.
AHEAD=("asan all" "tsan race_programs double_programs weir" "fuzz fuzz_targets")
build_ahead() {
    local preset targets
    chrt --idle --pid 0 "$BASHPID" || renice -n 19 -p "$BASHPID"
    for preset in "${AHEAD[@]}"; do
        read -r preset targets <<<"$preset"
        # shellcheck disable=SC2086 # targets are words
        build "$preset" $targets >"$LOGS/ahead-$preset.log" 2>&1
        echo $? >"$LOGS/ahead-$preset.status"
    done
}

# Waits for what is built ahead, and says what it said.
built() {
    local status=$LOGS/ahead-$1.status
    while [[ ! -s $status ]] && kill -0 "$builder" 2>/dev/null; do
        sleep 0.2
    done
    cat "$LOGS/ahead-$1.log"
    [[ -s $status ]] && return "$(<"$status")"
}

# ctest in a preset's folder, with its verdict in our form; the rest are its options.
programs() {
    local out
    out=$(mktemp)
    fixed_addresses ctest --test-dir "$1" -j 2 --no-tests=error --output-on-failure "${@:2}" | tee "$out"
    local code=${PIPESTATUS[0]}
    awk '/^ *[0-9]+\/[0-9]+ Test/ {shows = /\*\*\*/; if (shows) print "=== failed above:"} shows' "$out"
    awk '/tests failed out of/ {bad = $4; all = $NF} END {printf "%d passed, %d failed\n", all - bad, bad}' "$out"
    rm -f "$out"
    return "$code"
}

# ThreadSanitizer of gcc 12 does not start where the kernel spreads addresses too widely.
fixed_addresses() {
    if setarch --addr-no-randomize true 2>/dev/null; then
        setarch --addr-no-randomize "$@"
    else
        "$@"
    fi
}

integration() {
    WEIR=$1 "$PYTHON" tests/integration/run.py "${@:2}"
}

# One program is one test.
one() {
    if "$@"; then
        echo "1 passed, 0 failed"
    else
        echo "0 passed, 1 failed"
        return 1
    fi
}

replay() {
    local good=0 bad=0 source name
    for source in tests/fuzz/fuzz_*.c; do
        name=$(basename "$source" .c)
        if "build/fuzz/$name" -runs=0 "tests/fuzz/corpus/${name#fuzz_}"; then
            good=$((good + 1))
        else
            echo "FAIL: $name on its corpus"
            bad=$((bad + 1))
        fi
    done
    echo "$good passed, $bad failed"
    ((bad == 0 && good > 0))
}

case ${1:-} in
integration)
    cmake --preset dev >/dev/null && cmake --build --preset dev --target weir bench_programs || exit 1
    WEIR=${WEIR:-$PWD/build/weir} exec "$PYTHON" tests/integration/run.py "${@:2}"
    ;;
all)
    export WEIR_TEST_ALL=1
    ;;
"") ;;
*)
    echo "usage: ./dev test [all | integration [WORD]]" >&2
    exit 2
    ;;
esac

stage build build dev all
is_built=$?
rm -f "$LOGS"/ahead-*
build_ahead &>/dev/null &
builder=$!
if ((is_built == 0)); then
    stage unit programs build
    stage integration integration "$PWD/build/weir"
    stage operators "$PYTHON" tests/conformance/onnx_operators.py
    stage operators-cuda "$PYTHON" tests/conformance/onnx_cuda.py
    stage hardening tests/style/hardening.sh build/weir
    if [[ -n ${WEIR_TEST_ALL:-} ]]; then
        stage planted-bugs "$PYTHON" tests/double/plant_bugs.py
        stage numbers one build/tests/number_check
        stage networks "$PYTHON" tests/networks/agree.py
        stage operators-random "$PYTHON" tests/conformance/onnx_reference.py
        WEIR=$PWD/build/weir stage clients "$PYTHON" tests/integration/clients/table.py
        WEIR=$PWD/build/weir stage schema "$PYTHON" tests/integration/clients/schema_calls.py
        WEIR=$PWD/build/weir stage page "$PYTHON" tests/integration/clients/page.py
    fi
fi
if stage build-asan built asan; then
    stage unit-asan programs build/asan
    stage integration-asan integration "$PWD/build/asan/weir"
    stage operators-asan "$PYTHON" tests/conformance/onnx_operators.py --program build/asan/tests/run_network --quiet
    if [[ -n ${WEIR_TEST_ALL:-} ]]; then
        stage operators-cuda-asan "$PYTHON" tests/conformance/onnx_cuda.py --program build/asan/tests/run_network
        WEIR=$PWD/build/asan/weir stage clients-asan "$PYTHON" tests/integration/clients/table.py
        WEIR=$PWD/build/asan/weir stage schema-asan "$PYTHON" tests/integration/clients/schema_calls.py --quick
    fi
fi
if stage build-tsan built tsan; then
    stage race programs build/tsan -R '^race[.]'
    # double.cuda_layers takes two minutes under TSan: only in `./dev test all`.
    always_under_tsan='kernels|runtime|products|cuda_kernels|cuda_moves|cuda_life|cuda_parts'
    stage double-tsan programs build/tsan --no-tests=ignore -R "^double[.](${WEIR_TEST_ALL:+cuda_layers|}$always_under_tsan)\$"
    stage integration-tsan integration "$PWD/build/tsan/weir" batching admission lifecycle limits cuda_cases.Telemetry \
        ui_cases traces_cases admin_cases rollout_cases.Steps rollout_cases.Shadows versions_cases.Files.test_a_live versions_cases.State
fi
if stage build-fuzz built fuzz; then
    stage corpus replay
    if [[ -n ${WEIR_TEST_ALL:-} ]]; then
        stage fuzz tests/fuzz.sh 60
    fi
fi
if [[ -n ${WEIR_TEST_ALL:-} ]]; then
    stage lint-deep tests/style/lint.sh deep # with the style checks
else
    stage style tests/style/run.sh
fi
echo "$passed passed, $failed failed"
((failed == 0))
