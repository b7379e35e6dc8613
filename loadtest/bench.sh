#!/usr/bin/env bash
# usage: bench.sh [networks|invariance|versions|protocols] [OPTION]...   builds what is measured and runs bench.py, versions.py,
# protocols.py, or tests/networks/compare.py or invariance.py. BENCH_BUILD names another build folder, which is taken as it is. ./dev bench calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -z ${BENCH_BUILD:-} ]]; then
    cmake --preset dev >/dev/null
    cmake --build --preset dev --target weir bench_programs
    cmake --build --preset dev --target weir_cuda_sim >/dev/null 2>&1 || true # only where the CUDA toolkit's headers are
fi
export PYTHONDONTWRITEBYTECODE=1
if [[ ${1:-} == networks ]]; then
    exec /usr/bin/python3 tests/networks/compare.py "${@:2}"
fi
if [[ ${1:-} == invariance ]]; then
    exec /usr/bin/python3 tests/networks/invariance.py "${@:2}"
fi
if [[ ${1:-} == versions ]]; then
    exec /usr/bin/python3 loadtest/versions.py "${@:2}"
fi
if [[ ${1:-} == protocols ]]; then
    exec /usr/bin/python3 loadtest/protocols.py "${@:2}"
fi
exec /usr/bin/python3 loadtest/bench.py "$@"
