#!/usr/bin/env bash
# run.sh NAME SECONDS [libFuzzer option…]: fuzzes one reader. Its new inputs go to build/fuzz/corpus/NAME and are used
# again; its findings go to build/fuzz/findings. BUBBLESCOPE_FUZZ_PRESET=fuzz-fast takes the programs of that preset.
# Seeds are ours and, where the folder of real traces is there, the
# beginnings of those. A finding that was fixed goes to tests/fuzz/findings/NAME, where the tests replay it. Readers of
# traces get up to a megabyte: work and memory that grow faster than the input do not show in less.
set -euo pipefail
(($# >= 2)) || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
name=$1 seconds=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../../build/${BUBBLESCOPE_FUZZ_PRESET:-fuzz}
program=$build/tests/fuzz/fuzz_$name
[[ -x $program ]] || { echo "run.sh: no $program; build it: cmake --preset ${build##*/} && cmake --build --preset ${build##*/}" >&2; exit 2; }

# Beginnings of real traces, as they are and unpacked. Small: a fuzzer that reads megabytes learns nothing.
real=$build/real shared=${BUBBLESCOPE_SHARED:-$here/../../../shared}
fill_real() {
    [[ ! -e $real/whole ]] || return 0
    mkdir -p "$real/packed" "$real/plain" "$real/none"
    [[ -d $shared/traces ]] || return 0
    while IFS= read -r -d '' file; do
        short=$(echo "${file#"$shared"/traces/}" | tr '/ ' '__')
        case $file in
        *.gz)
            head -c 2000 "$file" >"$real/packed/$short"
            { gzip -dc "$file" || true; } 2>/dev/null | head -c 3000 >"$real/plain/${short%.gz}"
            ;;
        *.json | *.sqlite | *.pftrace) head -c 3000 "$file" >"$real/plain/$short" ;;
        esac
    done < <(find -L "$shared/traces" -type f -print0)
    touch "$real/whole"
}
# Several targets start at a time: one fills the folder, the others wait for it.
exec 9>"$build/real.lock"
flock 9
fill_real
exec 9>&-
case $name in
chrome_json | load_run | round_trip | sniff) seeds=$real/plain ;;
unpack) seeds=$real/packed ;;
*) seeds=$real/none ;;
esac
case $name in
chrome_json | json_args | primus_record | rocprof_json | torchtitan_log | load_run | round_trip | run_pair | sniff | job_log) words=traces ;;
perfetto_trace) words=perfetto ;;
nsys_database) words=nsys ;;
recognition_rules | rule_names) words=rules ;;
schedule_csv | schedule_json) words=schedules ;;
*) words=costs ;;
esac

case $name in
chrome_json | perfetto_trace | nsys_database | torchtitan_log | job_log | unpack | live_stream | network_frames | welcomed | collector_answers) longest=1048576 ;;
*) longest=4096 ;;
esac

learnt=$build/corpus/$name
mkdir -p "$learnt" "$build/findings" "$seeds"
folders=("$learnt" "$here/corpus/$name" "$seeds")
if [[ -d $here/findings/$name ]]; then folders+=("$here/findings/$name"); fi
# Some targets write files. A container's /dev/shm may be too small for them.
shared_memory=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1 || true)
if ((${shared_memory:-0} > 1000000)); then export TMPDIR=/dev/shm; fi
# Entropic scheduling costs more than the readers themselves.
exec "$program" -max_total_time="$seconds" -dict="$here/dictionaries/$words" -artifact_prefix="$build/findings/$name-" \
    -timeout=20 -rss_limit_mb=3000 -entropic=0 -max_len="$longest" -print_final_stats=1 -verbosity=0 "$@" "${folders[@]}"
