#!/usr/bin/env bash
# usage: tests/integration/shared_cases.sh DIRECTORY [NUMBER...]
# Replays original case files (NN-name.http, .json, .yaml, .sh with their 00-replay.sh and 00-lib.txt) against build/weir, or
# against the program in WEIR. The project's own tests hold the same cases; this is for comparing with the originals. The last
# line is `N passed, N failed`.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if (($# == 0)) || [[ ! -f $1/00-replay.sh ]]; then
    echo "usage: $0 DIRECTORY [NUMBER...]" >&2
    exit 2
fi
cases=$(cd "$1" && pwd)
shift
weir=${WEIR:-$root/build/weir}
work=$(mktemp -d)
server=0 port=0 good=0 bad=0

cleanup() {
    stop
    rm -rf "$work"
}
trap cleanup EXIT

# start MODEL FLAG...: a server on a free port; sets server and port.
start() {
    : >"$work/log"
    "$weir" serve "$1" --port 0 --max-body-bytes 1MiB "${@:2}" 2>"$work/log" &
    server=$!
    local tries
    for ((tries = 0; tries < 400; tries++)); do
        if grep -q ' ready' "$work/log"; then
            port=$(grep -m 1 ' listening ' "$work/log" | sed -E 's/.* address=[^ ]*:([0-9]+).*/\1/')
            return 0
        fi
        sleep 0.05
    done
    echo "the server did not start:" >&2
    cat "$work/log" >&2
    exit 1
}

stop() {
    if ((server)); then
        kill -INT "$server" 2>/dev/null
        wait "$server" 2>/dev/null
        server=0
    fi
}

slow_model() {
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 - "$root/tests/integration" "$work" <<'PY'
import shutil, sys
sys.path.insert(0, sys.argv[1])
import reference
shutil.copytree(reference.slow_demo(), sys.argv[2] + "/slow/demo")
PY
}

verdict() {
    if (($2 == 0)); then
        good=$((good + 1))
        echo "pass  $1"
    else
        bad=$((bad + 1))
        echo "FAIL  $1: $3"
    fi
}

# replay FILE STATUSES: the statuses of the answers must be exactly these.
replay() {
    local got
    got=$(WAIT=1 "$cases/00-replay.sh" "$1" 127.0.0.1 "$port" | grep -aoE '^HTTP/1\.[01] [0-9]+' | awk '{printf "%s ", $2}')
    [[ ${got% } == "$2" ]]
    verdict "$(basename "$1")" $? "got $got, expected $2"
}

scenario() {
    local out code
    out=$("$1" "${@:2}" 2>&1)
    code=$?
    if ((code == 77)); then
        echo "skip  $(basename "$1"): $out"
    else
        verdict "$(basename "$1")" "$code" "$out"
    fi
}

refused() {
    local out code
    out=$("$weir" serve -c "$1" 2>&1)
    code=$?
    ((code != 0)) && grep -q "$2" <<<"$out"
    verdict "$(basename "$1")" $? "exit $code: $out"
}

# names MODEL WORD...: the model is refused, and the message holds every word.
names() {
    local out code word
    out=$("$weir" inspect "$1" 2>&1)
    code=$?
    ((code == 3)) || { echo "$1: exit $code: $out"; return 1; }
    for word in "${@:2}"; do
        [[ $out == *"$word"* ]] || { echo "$1: no $word in: $out"; return 1; }
    done
}

# gives MODEL ROWS PREDICTIONS: what the model answers, as JSON; numbers are compared to six digits.
gives() {
    local got
    start "$1" || return 1
    got=$(curl -s -d "{\"instances\":$2}" "http://127.0.0.1:$port/predict")
    stop
    python3 - "$got" "$3" <<'PY' || { echo "$1: $got, not $3"; return 1; }
import json, sys
got, expected = json.loads(sys.argv[1])["predictions"], json.loads(sys.argv[2])
flat = lambda rows: [number for row in rows for number in row]
sys.exit(any(abs(a - b) > 1e-6 * max(abs(b), 1e-9) for a, b in zip(flat(got), flat(expected))) or len(got) != len(expected))
PY
}

# The model files of case 25, 26, 27 or 28.
model_files() {
    local out=$work/files-$1 path
    local halves='[[1,0.5,0],[65504,5.9604645e-08,0.0999755859375],[6.103515625e-05,-3,0.3330078125]]'
    "$2" "$out" >/dev/null || return 1
    case $1 in
    25)
        for path in "$out"/bad-*; do
            names "$path" W || return 1
        done
        gives "$out/good" '[[1,2,3,4]]' '[[5,6,8.5]]'
        ;;
    26) gives "$out/gemm" '[[1,2,3,4],[0,0,0,0],[-2,0.5,8,1]]' '[[22.5,43,63.5],[20,40,60],[19.5,40.75,64.5]]' ;;
    27)
        names "$out/conv" NonMaxSuppression nms_7 13 && names "$out/unnamed" Unique y &&
            names "$out/domain" com.example MagicGelu && names "$out/opset99" 99
        ;;
    28)
        for path in "$out"/fp*; do
            gives "$path" '[[1,0,0,0],[0,1,0,0],[0,0,1,0]]' "$halves" || return 1
        done
        ;;
    esac
}

wanted() {
    ((${#only[@]} == 0)) || [[ " ${only[*]} " == *" $1 "* ]]
}

only=("$@")
"$cases/00-model.sh" "$work/models" >/dev/null || exit 1
slow_model || exit 1
export MODELS=$work/models/demo
start "$work/models/demo" --batch-size 8 --body-timeout-ms 3000
for file in "$cases"/[0-9]*; do
    name=$(basename "$file")
    number=${name%%-*}
    wanted "$number" || continue
    case $name in
    00-* | *.expect) ;;
    01-*.http) replay "$file" "200 200 200 200" ;;
    02-*.http | 09-*.http) replay "$file" "400" ;;
    04-*.http) replay "$file" "204 405 200" ;;
    05-*.http) replay "$file" "200 404 200" ;;
    06-*.http | 07-*.http) replay "$file" "200 200" ;;
    08-*.http) replay "$file" "200 415 415 200" ;;
    1[2-7]-*.json | 19-*.json | 2[01]-*.json) replay "$file" "400" ;;
    18-*.json | 31-*.json) replay "$file" "200" ;;
    03-*.sh | 1[016]-*.sh | 29-*.sh | 3[03]-*.sh | 40-*.sh) scenario "$file" 127.0.0.1 "$port" ;;
    34-*.sh) DEADLINE=3 scenario "$file" 127.0.0.1 "$port" ;;
    2[5-8]-*.sh)
        stop
        out=$(model_files "$number" "$file" 2>&1)
        verdict "$name" $? "$out"
        start "$MODELS" --batch-size 8 --body-timeout-ms 3000
        ;;
    32-*.sh | 35-*.sh)
        stop
        start "$work/slow/demo" --batch-size 1 --max-concurrency 20 --drain-delay-ms 1000 --timeout-ms 60000 \
            --queue-delay-target-ms 60000
        if [[ $number == 32 ]]; then
            SLOW=1 scenario "$file" 127.0.0.1 "$port"
        else
            PID=$server scenario "$file" 127.0.0.1 "$port"
        fi
        stop
        start "$work/models/demo" --batch-size 8 --body-timeout-ms 3000
        ;;
    36-*.sh)
        # shellcheck disable=SC2016 # the scenario puts the values in
        printf 'port: {PORT}\nmodel_path: {MODELS}\n' >"$work/template.yaml"
        START="$weir serve -c" CFG=$work/template.yaml scenario "$file"
        ;;
    37-*.sh | 38-*.sh | 44-*.sh) # versions come while it serves
        stop
        "$cases/00-model.sh" "$work/watched-$number" >/dev/null
        start "$work/watched-$number/demo"
        MODELS=$work/watched-$number/demo scenario "$file" 127.0.0.1 "$port"
        stop
        start "$MODELS" --batch-size 8 --body-timeout-ms 3000
        ;;
    41-*.yaml) refused "$file" 'batch_size' ;;
    42-*.yaml) refused "$file" 'batch_size' ;;
    43-*.yaml) refused "$file" '70000' ;;
    *) echo "skip  $name: waits for another part" ;;
    esac
done
echo "$good passed, $bad failed"
((bad == 0))
