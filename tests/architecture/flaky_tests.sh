#!/usr/bin/env bash
# flaky_tests.sh BOOTSTRAP CTEST: runs suites made up for it with bootstrap's own function.
set -euo pipefail
bootstrap=$1
PATH=$(dirname "$2"):$PATH
unset CI
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=/dev/null
source "$bootstrap"
cd "$folder"

# suite NAME FLAKY…: a test that passes, two that skip, and some that fail the first time.
suite() {
    local dir=$1 name
    shift
    mkdir -p "$dir"
    {
        say 'add_test(sound true)'
        say 'add_test(traces sh -c "echo skipped: needs traces/a, needs traces/b; exit 77")'
        say 'set_tests_properties(traces PROPERTIES SKIP_RETURN_CODE 77)'
        say 'add_test(gpu sh -c "echo /a/b.cpp:7: Skipped; echo no GPU here")'
        say 'set_tests_properties(gpu PROPERTIES SKIP_REGULAR_EXPRESSION Skipped)'
        for name in "$@"; do say "add_test($name sh -c \"test -e $name.ran || { touch $name.ran; false; }\")"; done
    } >"$dir/CTestTestfile.cmake"
}

# expect WORDS CODE PATTERN…: how a run ends and what it prints.
expect() {
    local name=$1 code=0 output
    output=$( (set -e; run_ctest "$name") 2>&1) || code=$?
    if ((code != $2)); then
        say "$name ended with $code:"
        say "$output"
        exit 1
    fi
    shift 2
    local pattern
    for pattern in "$@"; do
        grep -qE -- "$pattern" <<<"$output" || {
            say "$name lacks '$pattern':"
            say "$output"
            exit 1
        }
    done
}

suite calm
expect calm 0 '^  traces: needs traces/a, needs traces/b$' '^  gpu: no GPU here$'
suite one late
expect one 0 '^Flaky: 1 of 4 tests passed on their second try' '^  late$'
suite two late later
expect two 1 '^Flaky: 2 of 5 tests' '^  late$' '^  later$' 'one flaky test in 2,000 is the limit'
suite broken
say 'add_test(wrong false)' >>broken/CTestTestfile.cmake
expect broken 8 'wrong .*Failed'
