#!/usr/bin/env bash
# Tests tests/gpu/run-on-gpu with commands that pass, fail and never end. Argument: the script.
set -uo pipefail
pack=$(mktemp -d)
trap 'rm -rf "$pack"' EXIT
mkdir -p "$pack/bin" "$pack/share"
cp "$1" "$pack/run-on-gpu"
cat >"$pack/bin/bubblescope" <<'STUB'
#!/bin/sh
[ "$2" = --help-all ] && exit 0
case "$*" in
"record --out"*) mkdir -p "$3" ;;
"info --json"*/torch-1) printf '{"kernel": 20,\n"kernel":6}\n' ;;
"info --json"*/torch-none) echo '{"kernel": 6}' ;;
*) echo "$@" ;;
esac
STUB
# A Python with PyTorch and a GPU, whose profiler counts what the test says.
cat >"$pack/bin/python3" <<'STUB'
#!/bin/sh
[ "$1" = -c ] && exit 0
echo "kernels $COUNTED"
echo "step_ms 1.500"
STUB
# The suite fails in its kernels, and its links never end.
printf '#!/bin/sh\ncase "$*" in *LinkedRuns*) sleep 600 ;; *Kernels*) echo "[  FAILED  ] 1 test"; exit 1 ;; esac\n' >"$pack/bin/emulated_device_tests"
printf '#!/bin/sh\necho "bf16 product: 7 TFLOP/s"\n' >"$pack/bin/emulated_report"
chmod +x "$pack"/bin/*

wrong=0
expect() { # WHAT, then a command that succeeds if it is so
    local what=$1
    shift
    "$@" || {
        echo "not so: $what"
        wrong=1
    }
}
# shellcheck disable=SC2317 # expect calls it
summary() { grep -qE "$1" "$pack/results/summary.txt"; }

"$pack/run-on-gpu" --dry --out "$pack/results" --minutes 1 --part 7 >/dev/null
expect "what never ends is cut off" summary '^cut off +[0-9]+ s  part7/nccl$'
expect "what a dry run lacks is skipped with a reason" summary '^skipped +-  part7/two-processes: NCCL needs a GPU'

"$pack/run-on-gpu" --dry --out "$pack/results" --minutes 1 --part 2 --part 5 >"$pack/shown"
expect "a failed command makes the whole fail" test $? -eq 1
expect "what is shown is the summary" cmp -s "$pack/shown" "$pack/results/summary.txt"
expect "the archive has every log" eval 'tar -tzf "$pack/results/results.tgz" | grep -q part5/products.log'
expect "a failure has its exit code" summary '^FAILED +[0-9]+ s  part2/kernels \(exit code 1\)$'
expect "its own words are in the summary" summary '^ +\[  FAILED  \] 1 test$'
expect "the next command runs all the same" summary '^passed +[0-9]+ s  part2/stages$'
expect "figures are in the summary" summary '^ +bf16 product: 7 TFLOP/s$'
expect "logs begin with the command" grep -q '^\$ emulated_device_tests ' "$pack/results/part2/stages.log"
expect "parts that were not asked for do not run" test ! -e "$pack/results/part3"
COUNTED=20 "$pack/run-on-gpu" --dry --out "$pack/results" --minutes 1 --part 4 >/dev/null
expect "equal counts of kernels pass" summary '^passed +-  part4/torch-kernels: 20 recorded, as torch.profiler counts$'
COUNTED=21 "$pack/run-on-gpu" --dry --out "$pack/results" --minutes 1 --part 4 >/dev/null
expect "other counts make the whole fail" test $? -eq 1
expect "both counts are in the summary" summary '^FAILED +-  part4/torch-kernels: 20 recorded, and torch.profiler counts 21$'
for arguments in "--part 0" "--minutes none" "--what"; do
    # shellcheck disable=SC2086 # two words
    "$pack/run-on-gpu" --out "$pack/other" $arguments >/dev/null 2>&1
    expect "$arguments is wrong use" test $? -eq 2
done
exit $wrong
