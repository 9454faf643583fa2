#!/usr/bin/env bash
# seeds.sh LIBRARY PROGRAM FILTER [SEED…]: runs these tests of a program with their threads delayed at random, once for
# each seed: 1 to BUBBLESCOPE_CHAOS_SEEDS (3). Ends with 1 if any failed, crashed or took two minutes.
set -uo pipefail
(($# >= 3)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
library=$1 program=$2 filter=$3
shift 3
if (($# == 0)); then mapfile -t seeds < <(seq "${BUBBLESCOPE_CHAOS_SEEDS:-3}"); else seeds=("$@"); fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

one() { # SEED
    BUBBLESCOPE_CHAOS=$1 LD_PRELOAD=$library timeout 120 "$program" --gtest_brief=1 "--gtest_filter=$filter" \
        >"$logs/$1" 2>&1 && rm "$logs/$1" && return
    echo "seed $1 ended with $?" >>"$logs/$1"
}
export -f one
export library program filter logs
# Threads sleep most of the time.
printf '%s\n' "${seeds[@]}" | xargs -P "${BUBBLESCOPE_CHAOS_JOBS:-4}" -I SEED bash -c 'one SEED'
shopt -s nullglob
failed=("$logs"/*)
for log in "${failed[@]:0:5}"; do tail -n 30 "$log"; done
echo "${program##*/}: ${#failed[@]} of ${#seeds[@]} seeds failed: ${failed[*]##*/}"
((${#failed[@]} == 0))
