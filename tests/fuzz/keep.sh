#!/usr/bin/env bash
# keep.sh [NAME…]: of what runs of run.sh learnt, puts as few inputs as reach the same code into tests/fuzz/corpus, small
# ones first. The tests replay them with any compiler. Large inputs stay in the build folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../../build/${BUBBLESCOPE_FUZZ_PRESET:-fuzz}
longest=4096 most=60 # bytes of an input, inputs of a reader
if (($# == 0)); then
    for folder in "$build"/corpus/*; do set -- "$@" "$(basename "$folder")"; done
fi
if [[ -d /dev/shm ]]; then export TMPDIR=/dev/shm; fi # some targets write files
for name in "$@"; do
    few=$(mktemp -d)
    # The seeds are given first: only what adds to them is taken.
    cp "$here/corpus/$name"/* "$few/"
    before=$(find "$few" -type f | wc -l)
    "$build/tests/fuzz/fuzz_$name" -merge=1 -max_len="$longest" -rss_limit_mb=3000 -timeout=20 -verbosity=0 "$few" \
        "$build/corpus/$name" >"$build/merge-$name.log" 2>&1 || { tail -n 20 "$build/merge-$name.log" >&2; exit 1; }
    find "$few" -type f -size +"$longest"c -delete
    mapfile -t added < <(find "$few" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -printf '%s %p\n' | sort -n |
        head -n "$most" | cut -d' ' -f2-)
    for file in "${added[@]}"; do cp "$file" "$here/corpus/$name/"; done
    echo "$name: $before inputs, ${#added[@]} more"
    rm -rf "$few"
done
