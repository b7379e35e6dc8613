#!/usr/bin/env bash
# usage: tests/fuzz.sh [SECONDS] [TARGET]   fuzzes each target (or the one named, such as json) for SECONDS (60).
# What it finds stays in build/fuzz/findings/; new inputs that reach new code stay in build/fuzz/corpus/. The seeds in
# tests/fuzz/corpus/ are only read. The preset fuzz must be built: ./dev fuzz does both.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
seconds=${1:-60} only=${2:-}
good=0 bad=0
if ! [[ $seconds =~ ^[0-9]+$ ]]; then
    echo "usage: ./dev fuzz [SECONDS] [TARGET]" >&2
    exit 2
fi
mkdir -p build/fuzz/findings
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    short=${name#fuzz_}
    [[ -z $only || $only == "$short" || $only == "$name" ]] || continue
    mkdir -p "build/fuzz/corpus/$short"
    options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
        -artifact_prefix="build/fuzz/findings/$short-")
    if [[ -f tests/fuzz/$short.dict ]]; then
        options+=(-dict="tests/fuzz/$short.dict")
    fi
    seeds=("build/fuzz/corpus/$short" "tests/fuzz/corpus/$short")
    if [[ $short == onnx && -d /usr/share/libonnx-testdata/data ]]; then # small models of every operator
        mkdir -p build/fuzz/testdata
        while IFS= read -r model; do
            cp "$model" "build/fuzz/testdata/$(basename "$(dirname "$model")").onnx"
        done < <(find /usr/share/libonnx-testdata/data -name model.onnx -size -20k)
        seeds+=(build/fuzz/testdata)
    fi
    echo "== $short, $seconds s"
    if "build/fuzz/$name" "${options[@]}" "${seeds[@]}" 2>"build/fuzz/$short.log"; then
        grep -E 'number_of_executed_units|peak_rss_mb' "build/fuzz/$short.log"
        good=$((good + 1))
    else
        tail -n 40 "build/fuzz/$short.log"
        bad=$((bad + 1))
    fi
done
if ((good + bad == 0)); then
    echo "no target named ${only:-fuzz_*}" >&2
    bad=1
fi
echo "$good passed, $bad failed"
((bad == 0))
