#!/usr/bin/env bash
# night.sh MINUTES [NAME…]: fuzzes all readers, or these, in turn until the time is over, each time with another seed.
# Inputs that reach new code stay in build/fuzz/corpus; build/fuzz/counts holds how many inputs each reader has had in
# all nights. Ends with a table of them and exit code 1 if a reader broke.
set -euo pipefail
(($# >= 1)) || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
minutes=$1
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../../build/${BUBBLESCOPE_FUZZ_PRESET:-fuzz}
counts=$build/counts logs=$build/logs
mkdir -p "$counts" "$logs"
if (($# == 0)); then
    mapfile -t names < <(find "$build/tests/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -executable | sed 's|.*/fuzz_||' | sort)
    set -- "${names[@]}"
fi
(($# > 0)) || { echo "night.sh: no readers in $build: ./bootstrap check fuzz builds them" >&2; exit 2; }

one() { # NAME SECONDS
    local status=0 tried
    "$here/run.sh" "$1" "$2" -seed="$((RANDOM * 32768 + RANDOM + 1))" >"$logs/$1" 2>&1 || status=$?
    tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$1")
    echo $(($(cat "$counts/$1" 2>/dev/null || echo 0) + ${tried:-0})) >"$counts/$1"
    if ((status != 0)); then
        touch "$logs/broke"
        tail -n 40 "$logs/$1"
    fi
}
export -f one
export here counts logs

rm -f "$logs/broke"
end=$((SECONDS + minutes * 60)) turn=$((minutes * 60 * $(nproc) / $#)) # in a short night, each has its turn
((turn < 60)) || turn=60
((turn > 0)) || turn=1
while ((SECONDS < end)); do
    left=$((end - SECONDS))
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I NAME bash -c "one NAME $((left < turn ? left : turn))"
    turn=$((turn < 600 ? 2 * turn : turn)) # readers are all tried early, and then at length
done
for name in "$@"; do printf '%-20s %12d\n' "$name" "$(cat "$counts/$name")"; done
[[ ! -e $logs/broke ]]
