#!/usr/bin/env bash
# analyze.sh BUBBLESCOPE DATA SHARED MPIRUN…: what `analyze` prints and writes under mpirun is what it prints and writes
# by itself, byte for byte, with one process and with several.
set -uo pipefail
bubblescope=$1 data=$2 shared=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
checked=0

fail() {
    echo "FAILED: $*"
    failed=1
}

# The command line itself is put together here: `mpirun -n N bubblescope analyze …`.
under_mpirun() {
    local processes=$1
    shift
    timeout 120 "${mpirun[@]}" -n "$processes" "$bubblescope" "$@"
}
mpirun=("$@")

# What mpirun adds of its own where the job's exit code is not 0.
without_mpirun() { sed -e '/^-----/,/^-----/d' "$1"; }

# same "COUNTS OF PROCESSES" ARGUMENTS…
same() {
    local code counts=$1
    shift
    rm -f "$scratch/alone.html"
    "$bubblescope" analyze "$@" --html "$scratch/alone.html" >"$scratch/alone.out" 2>"$scratch/alone.err"
    code=$?
    for processes in $counts; do
        rm -f "$scratch/spread.html"
        under_mpirun $processes analyze "$@" --html "$scratch/spread.html" >"$scratch/spread.out" 2>"$scratch/spread.raw"
        local seen=$?
        checked=$((checked + 1))
        if ((seen != code)); then fail "$processes processes, exit code $seen and not $code: $*"; fi
        cmp "$scratch/alone.out" "$scratch/spread.out" || fail "$processes processes, output: $*"
        without_mpirun "$scratch/spread.raw" | sed "s|$scratch/spread|$scratch/alone|" >"$scratch/spread.err"
        cmp "$scratch/alone.err" "$scratch/spread.err" || {
            fail "$processes processes, messages: $*"
            cat "$scratch/spread.raw"
        }
        if ((code == 0)); then
            cmp "$scratch/alone.html" "$scratch/spread.html" || fail "$processes processes, page: $*"
        fi
    done
}

"$bubblescope" run --schedule interleaved --pp 4 --microbatches 8 --vpp 2 --steps 3 --no-pace --out "$scratch/run" \
    >"$scratch/log" 2>&1 || fail "run: $(cat "$scratch/log")"
same "1 2 4" "$scratch/run"
same "2" "$scratch/run" --json
same "4" "$scratch/run" --step 99
same "4" "$scratch/run" --fail-on any
same "1 4" "$scratch/nothing-there"
same "4" "$data/traces/megatron_pp2.json" --json
same "2 4" "$data/traces" --json
same "4" "$data/recordings/torch-pp-cpu-gloo/1f1b_pp4_mb8" --json
same "4" "$data/recordings/torch-pp-cpu-gloo/zbv_pp2_mb4_v2" --json
same "2 3" "$data/recordings/torch-recorded/1f1b_dp2_pp2_mb4" --json
grep -q '"loss"' "$scratch/spread.out" || fail "what a framework states of its steps is not there"
if [[ -d $shared/traces ]]; then
    for name in bytedance-straggler/timeline-ST.json.gz megatronapp-pp4/data-1-pipeline-4-tensor-1-pp-aggregated-iter10.json \
        param-dlrm-8rank; do
        same "4" "$shared/traces/$name" --json
    done
else
    echo "no real traces in $shared: only those that come along were compared"
fi
# Wrong usage is said once, and other commands are done once.
for processes in 1 4; do
    for wrong in '--step x' '--max-step x'; do
        under_mpirun $processes analyze $wrong "$scratch/run" >"$scratch/out" 2>"$scratch/raw"
        (($? == 2)) || fail "wrong usage: exit code of $wrong"
        (($(grep -c "^bubblescope: 'x'" "$scratch/raw") == 1)) || fail "wrong usage: said other than once: $wrong"
    done
    under_mpirun $processes schedule --schedule 1f1b --pp 2 --microbatches 2 >"$scratch/spread.out" 2>/dev/null
    "$bubblescope" schedule --schedule 1f1b --pp 2 --microbatches 2 | cmp - "$scratch/spread.out" || fail "schedule"
done
# One process does not find a file that the others have: one message, its exit code, and nobody waits.
cat >"$scratch/rules.json" <<'END'
{"rules": [{"name": "mine", "ops": [{"name": "f{microbatch}", "kind": "F"}]}]}
END
cat >"$scratch/elsewhere" <<'END'
#!/bin/sh
if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 2 ]; then cd /; fi
exec "$@"
END
chmod +x "$scratch/elsewhere"
(cd "$scratch" && timeout 120 "${mpirun[@]}" -n 4 ./elsewhere "$bubblescope" analyze --rules rules.json run) \
    >"$scratch/out" 2>"$scratch/raw"
seen=$?
((seen == 3)) || fail "a process without its file: exit code $seen"
# One error: its cause and its way out.
[[ $(without_mpirun "$scratch/raw" | grep -c '^bubblescope: ') == 1 && $(without_mpirun "$scratch/raw" | grep -c .) == 2 &&
    ! -s $scratch/out ]] || {
    fail "a process without its file: messages"
    cat "$scratch/out" "$scratch/raw"
}
echo "$checked comparisons"
exit $failed
