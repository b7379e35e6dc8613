#!/usr/bin/env bash
# usage: hardening.sh PROGRAM   asserts with readelf that the program is hardened as cmake/flags.cmake asks.
set -uo pipefail
program=${1:-build/weir}
good=0 bad=0

check() {
    if "${@:2}"; then
        good=$((good + 1))
    else
        echo "FAIL: $program: no $1"
        bad=$((bad + 1))
    fi
}
holds() { readelf -W "$1" "$program" | grep -E "$2" >/dev/null; } # not -q: readelf must be able to finish
lacks() { ! holds "$@"; }

check "file to look at" test -x "$program"
check "position independence (PIE)" holds -h 'Type: +DYN'
check "read-only relocations (RELRO)" holds -l 'GNU_RELRO'
check "immediate binding (BIND_NOW)" holds -d 'BIND_NOW|FLAGS_1.*NOW'
check "stack protector" holds --dyn-syms '__stack_chk_fail'
check "fortified library calls" holds --dyn-syms '_chk(@|$)'
check "non-executable stack" holds -l 'GNU_STACK +[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ RW '
check "absence of text relocations" lacks -d 'TEXTREL'
echo "$good passed, $bad failed"
((bad == 0))
