#!/usr/bin/python3
"""usage: source_rules.py sizes|twins|words

sizes  a file has at most 500 lines, a header 150, a function 80 lines and 6 parameters
twins  every x/y/z.c has its unit test tests/unit/x/y/test_z.c
words  no path of one machine, no word that marks something unfinished

Exceptions stand in exceptions.txt with their reasons. Prints what breaks a rule; exits with 1 if anything does.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE_LINES, HEADER_LINES, FUNCTION_LINES, PARAMETERS = 500, 150, 80, 6
CODE_FOLDERS = ("config/", "engine/", "kernels/", "server/")
# Split so that this file does not name what it forbids.
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|home|root|Users|mnt)/")
DEFINITION = re.compile(r"^[A-Za-z_].*\)\s*\{$")


def files():
    """Everything in the tree that git does not ignore."""
    out = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return sorted(name for name in out.splitlines() if (ROOT / name).is_file())


def exceptions(rule):
    """{pattern: limit or None} of one rule."""
    out = {}
    for line in (ROOT / "tests" / "style" / "exceptions.txt").read_text(encoding="utf-8").splitlines():
        fields = line.split(None, 2)
        if not fields or line.startswith("#"):
            continue
        if len(fields) < 3:
            sys.exit("exceptions.txt: a line needs rule, file and reason: " + line)
        if fields[0] == rule:
            out[fields[1]] = fields[2]
    return out


def excepted(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def parameters(signature):
    """Number of parameters of a definition's text; commas inside brackets (function pointers) do not count."""
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    depth, count = 0, 1
    for letter in inside:
        depth += letter in "(["
        depth -= letter in ")]"
        count += letter == "," and depth == 0
    return 0 if inside.strip() in ("", "void") else count


def functions(lines):
    """(name, first line, lines, parameters) of each function: in formatted code a definition begins at the margin and ends
    with a closing brace there."""
    inside, signature, first = False, "", 0
    for number, line in enumerate(lines, 1):
        if inside:
            if line.startswith("}"):
                name = signature[: signature.index("(")].split()[-1].lstrip("*")
                yield name, first, number - first + 1, parameters(signature)
                inside, signature = False, ""
            continue
        if not signature:
            if not re.match(r"[A-Za-z_]", line):
                continue
            first = number
        signature += " " + line.strip()
        if signature.endswith(")") and DEFINITION.match(signature.strip() + " {"):
            continue  # the brace may follow on the next line
        if signature.endswith((";", "}", ":")) or "(" not in signature:
            signature = ""
        elif signature.endswith("{"):
            inside = DEFINITION.match(signature.strip()) is not None and "=" not in signature
            if not inside:
                signature = ""


def sizes():
    allowed = exceptions("sizes")
    for name in files():
        if not name.endswith((".c", ".h", ".cu", ".py", ".sh")) and name != "dev":
            continue
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        limit = HEADER_LINES if name.endswith(".h") else FILE_LINES
        if len(lines) > limit and not excepted(name, allowed):
            yield "%s: %d lines, the limit is %d" % (name, len(lines), limit)
        if not name.endswith(".c"):
            continue
        for function, first, length, count in functions(lines):
            where = "%s:%d: %s" % (name, first, function)
            if length > FUNCTION_LINES and not excepted("%s:%s" % (name, function), allowed):
                yield "%s has %d lines, the limit is %d" % (where, length, FUNCTION_LINES)
            if count > PARAMETERS and not excepted("%s:%s" % (name, function), allowed):
                yield "%s has %d parameters, the limit is %d" % (where, count, PARAMETERS)


def twins():
    allowed = exceptions("twins")
    names = files()
    there = set(names)
    for name in names:
        if not name.startswith(CODE_FOLDERS) or not name.endswith(".c"):
            continue
        path = pathlib.PurePosixPath(name)
        twin = "tests/unit/%s/test_%s" % (path.parent, path.name)
        if twin not in there and not excepted(name, allowed):
            yield "%s: its twin %s is missing" % (name, twin)
        if twin in there and excepted(name, [pattern for pattern in allowed if "*" not in pattern]):
            yield "%s: excepted in exceptions.txt, yet its twin exists" % name
    for name in names:
        if name.startswith("tests/unit/") and name.endswith(".c"):
            path = pathlib.PurePosixPath(name).relative_to("tests/unit")
            source = str(path.parent / path.name.replace("test_", "", 1))
            if source not in there and not excepted(name, allowed):
                yield "%s: there is no %s" % (name, source)


def words():
    allowed = exceptions("words")
    for name in files():
        if excepted(name, allowed) or name.startswith(("tests/fuzz/corpus/", "models/")):
            continue
        try:
            lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            for pattern, what in ((UNFINISHED, "an unfinished mark"), (MACHINE_PATH, "a path of one machine")):
                if pattern.search(line):
                    yield "%s:%d: %s: %s" % (name, number, what, line.strip()[:100])


def main():
    rules = {"sizes": sizes, "twins": twins, "words": words}
    if len(sys.argv) != 2 or sys.argv[1] not in rules:
        sys.exit(__doc__)
    found = list(rules[sys.argv[1]]())
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
