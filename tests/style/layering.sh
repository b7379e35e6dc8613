#!/usr/bin/env bash
# A floor includes from itself and from the floors below it, never from above: the rules of the map in README.md.
# Prints each include that breaks one.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# folder (a prefix of the file's path) | what its files may include, as an extended regular expression. The first line that
# matches decides.
rules() {
    cat <<'TABLE'
config/          | config/
kernels/         | kernels/
engine/graph/    | engine/(graph/|[a-z0-9_]+\.h$)|kernels/
engine/device/   | engine/(graph/|device/|[a-z0-9_]+\.h$)|kernels/
engine/model/    | engine/(graph/|device/|model/|[a-z0-9_]+\.h$)
engine/batch/    | engine/(graph/|device/|model/|batch/|[a-z0-9_]+\.h$)
engine/catalog/  | engine/(graph/|device/|model/|batch/|catalog/|[a-z0-9_]+\.h$)
engine/          | engine/
server/observe/  | server/(observe/|(bytes|put|http_client)\.h)|engine/[a-z0-9_]+\.h$
server/codec/    | server/(codec/|bytes\.h)|engine/[a-z0-9_]+\.h$
server/admit/    | server/(admit/|observe/|bytes\.h)|engine/[a-z0-9_]+\.h$
server/http/     | server/(http/|observe/|(bytes|put)\.h)|engine/(status|clock|thread|utf8)\.h$
server/api/      | server/(api/|http/|admit/|codec/|observe/|bytes\.h)|engine/[a-z0-9_]+\.h$
server/cli/      | server/|engine/[a-z0-9_]+\.h$|config/
server/service   | server/(service|(exit_code|engine_options)\.h|api/|http/|admit/|codec/|observe/|bytes\.h)|engine/[a-z0-9_]+\.h$|config/
server/engine_o  | server/engine_options\.h|engine/[a-z0-9_]+\.h$|config/
server/          | server/(bytes|http_client)\.h|engine/[a-z0-9_]+\.h$
TABLE
}

bad=0
while IFS=: read -r file line text; do
    include=${text#*\"}
    include=${include%%\"*}
    if [[ ! -f $include ]]; then
        echo "$file:$line: \"$include\" is not a path from the root"
        bad=1
        continue
    fi
    while IFS='|' read -r folder allowed; do
        folder=${folder%% *}
        [[ $file == "$folder"* ]] || continue
        if ! [[ $include =~ ^(${allowed# }) ]]; then
            echo "$file:$line: \"$include\" is above this floor or private to another; allowed: ${allowed# }"
            bad=1
        fi
        break
    done < <(rules)
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' --include='*.c' --include='*.h' config engine kernels server)

# Inside engine/ the top is the public face: the floors below it must not ask for the faces of the floors above.
if grep -nE '"engine/(engine|catalog)\.h"' engine/batch/* engine/device/* engine/graph/* engine/model/* 2>/dev/null; then
    echo "engine/: a lower floor includes engine.h or catalog.h"
    bad=1
fi
# One header alone knows llhttp's and libevent's types outside server/http.
if grep -rnE '#include <(llhttp|event2/)' --include='*.c' --include='*.h' config engine kernels server |
    grep -vE '^server/(http/|service|cli/)'; then
    echo "llhttp and libevent belong to server/http"
    bad=1
fi
exit $bad
