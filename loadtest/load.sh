#!/usr/bin/env bash
# usage: load.sh [overload] [OPTION]...   builds what is measured and runs load.py, or overload.py. BENCH_BUILD names another
# build folder, which is taken as it is. ./dev load calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ${1:-} == overload ]]; then
    exec loadtest/overload.sh "${@:2}"
fi
if [[ -z ${BENCH_BUILD:-} ]]; then
    cmake --preset dev >/dev/null
    cmake --build --preset dev --target weir bench_programs
fi
export PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 loadtest/load.py "$@"
