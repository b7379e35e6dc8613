#!/usr/bin/env bash
# The style checks; the last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
good=0 bad=0

check() {
    local out
    if out=$("${@:2}" 2>&1); then
        good=$((good + 1))
    else
        printf 'FAIL: %s\n%s\n' "$1" "$out"
        bad=$((bad + 1))
    fi
}

sources() { git ls-files -co --exclude-standard -- "$@" | while IFS= read -r name; do [[ -f $name ]] && echo "$name"; done; }
format() { sources '*.c' '*.h' | xargs -r clang-format --dry-run -Werror; }
shell() { { sources '*.sh'; echo dev; echo .ci/run; echo tests/style/pre-commit; } | xargs -r shellcheck; }
python() { sources '*.py' | xargs -r /usr/bin/python3 -m pyflakes; }
spaces() { ! sources | grep -vE '^(LICENSE$|tests/fuzz/corpus/|models/)' | xargs -r grep -nIE '[[:space:]]+$'; }

check layering tests/style/layering.sh
check sizes tests/style/source_rules.py sizes
check twins tests/style/source_rules.py twins
check words tests/style/source_rules.py words
check format format
check "trailing spaces" spaces
check shellcheck shell
check pyflakes python
echo "$good passed, $bad failed"
((bad == 0))
