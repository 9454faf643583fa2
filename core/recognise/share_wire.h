#pragma once

#include "core/base/wire.h"
#include "core/formats/source/dangling_flows.h"
#include "core/recognise/compute_blocks.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/rule_matches.h"
#include "core/recognise/trace_share.h"

// How the parts of shares' answers travel: see core/base/wire.h.
namespace bubblescope {

template <class Wire>
void fields(Wire& wire, InputFile& value) {
    auto& [path, named, bytes] = value;
    wire(path, named, bytes);
}
template <class Wire>
void fields(Wire& wire, FileOutcome& value) {
    auto& [unusable, problems] = value;
    wire(unusable, problems);
}
template <class Wire>
void fields(Wire& wire, ProcessGroup& value) {
    auto& [description, ranks] = value;
    wire(description, ranks);
}
template <class Wire>
void fields(Wire& wire, TraceFile& value) {
    auto& [path, format, rank, host, groups] = value;
    wire(path, format, rank, host, groups);
}
template <class Wire>
void fields(Wire& wire, TraceExtent& value) {
    auto& [first, last] = value;
    wire(first, last);
}
template <class Wire>
void fields(Wire& wire, TraceShare::Outcome& value) {
    auto& [files, read, extent, problems] = value;
    wire(files, read, extent, problems);
}
template <class Wire>
void fields(Wire& wire, SharedArrow& value) {
    auto& [id, first, file, ends] = value;
    wire(id, first, file, ends);
}
template <class Wire>
void fields(Wire& wire, FlowEnds& value) {
    auto& [dangling, shared] = value;
    wire(dangling, shared);
}
template <class Wire>
void fields(Wire& wire, RunInfo& value) {
    auto& [source, backend, schedule, flavor, pp, dp, tp, microbatches, vpp, placement, paced, pace_tolerance, faults] =
        value;
    wire(source, backend, schedule, flavor, pp, dp, tp, microbatches, vpp, placement, paced, pace_tolerance, faults);
}
template <class Wire>
void fields(Wire& wire, FoundOp& value) {
    auto& [home, step, kind, microbatch, part, start, end, lateness, sequence, overlapped, replica, idle, exposed] =
        value;
    wire(home, step, kind, microbatch, part, start, end, lateness, sequence, overlapped, replica, idle, exposed);
}
template <class Wire>
void fields(Wire& wire, FoundComm& value) {
    auto& [home, step, kind, payload, microbatch, stage, start, end, sequence, replica] = value;
    wire(home, step, kind, payload, microbatch, stage, start, end, sequence, replica);
}
template <class Wire>
void fields(Wire& wire, NativeMarks::Statement& value) {
    auto& [time, file, info] = value;
    wire(time, file, info);
}
template <class Wire>
void fields(Wire& wire, NativeMarks& value) {
    auto& [statements, ops, comm, other_tensor_ranks] = value;
    wire(statements, ops, comm, other_tensor_ranks);
}
template <class Wire>
void fields(Wire& wire, GpuWork::Span& value) {
    auto& [start, end] = value;
    wire(start, end);
}
template <class Wire>
void fields(Wire& wire, GpuWork::Work& value) {
    auto& [start, end, idle] = value;
    wire(start, end, idle);
}
template <class Wire>
void fields(Wire& wire, RuleMatch& value) {
    auto& [file, track, slice, name, start, end, pid, on_device, home, replica, step, kind, transfer, microbatch, part,
           sequence, overlapped, device] = value;
    wire(file, track, slice, name, start, end, pid, on_device, home, replica, step, kind, transfer, microbatch, part,
         sequence, overlapped, device);
}
template <class Wire>
void fields(Wire& wire, RuleFinds& value) {
    auto& [matches, names, unlabelled, other_tensor_ranks] = value;
    wire(matches, names, unlabelled, other_tensor_ranks);
}
template <class Wire>
void fields(Wire& wire, Mark& value) {
    auto& [index, start, end] = value;
    wire(index, start, end);
}
template <class Wire>
void fields(Wire& wire, ProfilerMarks& value) {
    auto& [steps, receives] = value;
    wire(steps, receives);
}
template <class Wire>
void fields(Wire& wire, ComputeBlock& value) {
    auto& [backward, host_start, host_end, work, idle, busy, transfer_before, sends, forward, calls] = value;
    wire(backward, host_start, host_end, work, idle, busy, transfer_before, sends, forward, calls);
}
template <class Wire>
void fields(Wire& wire, HostEvent& value) {
    auto& [deed, at, host_end, work, linked, call, direction, peer] = value;
    wire(deed, at, host_end, work, linked, call, direction, peer);
}
template <class Wire>
void fields(Wire& wire, RankBlocks& value) {
    auto& [rank, blocks, transfers, calls, on_device] = value;
    wire(rank, blocks, transfers, calls, on_device);
}

} // namespace bubblescope
