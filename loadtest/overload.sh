#!/usr/bin/env bash
# usage: overload.sh [OPTION]...   builds what is measured and runs overload.py. BENCH_BUILD names another build folder,
# which is taken as it is. ./dev load overload calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -z ${BENCH_BUILD:-} ]]; then
    cmake --preset dev >/dev/null
    cmake --build --preset dev --target weir bench_programs
fi
export PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 loadtest/overload.py "$@"
