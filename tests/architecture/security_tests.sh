#!/usr/bin/env bash
# security_tests.sh TREE: every test that SECURITY.md names exists.
set -euo pipefail
cd "$1"
missing=0
while IFS= read -r name; do
    suite=${name%%.*} test=${name#*.}
    case $suite in
    gui) pattern="BUBBLESCOPE_GUI_TEST(.*, $test)" ;;
    architecture) pattern="NAME architecture.$test" ;;
    *) pattern="TEST\(_F\|_P\)\?($suite, ${test/\*/.*})" ;;
    esac
    grep -rq --include='*.cpp' --include=CMakeLists.txt -- "$pattern" tests || { echo "SECURITY.md names no test: $name" && missing=1; }
done < <(grep -o '`[A-Za-z]*\.[A-Za-z_]*[*]\?`' SECURITY.md | tr -d '\140' | grep -v '\.sig$\|\.asc$' | sort -u)
exit $missing
