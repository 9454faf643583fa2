#pragma once

#include "core/base/wire_blocks.h"
#include "core/recognise/compute_blocks.h"
#include "core/recognise/found_wire.h"
#include "core/recognise/infer_ops.h"
#include "core/recognise/native_files.h"
#include "core/recognise/partitioned_trace.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/rule_matches.h"
#include "core/recognise/stated_values.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

// What recognition extracts from raw slices (see partitioned_trace.h).
namespace bubblescope {

/// Ops and transfers of files that Bubblescope wrote.
inline constexpr Extractor<NativeMarks> kNativeMarks{"native marks", withoutQuery<extractNativeMarks>};

struct RuleQuery {
    std::size_t rule = 0; ///< index, as for TracePartition::rule()
};
/// What a rule's names match.
inline constexpr Extractor<RuleFinds, RuleQuery> kRuleFinds{
    "rule", [](TracePartition& partition, const RuleQuery& query) -> Result<std::vector<RuleFinds>> {
        return extractRuleFinds(partition.rule(query.rule), partition);
    }};

inline constexpr Extractor<ProfilerMarks> kProfilerMarks{"profiler marks", withoutQuery<extractProfilerMarks>};

/// The blocks of files that both computed and transferred something; empty for the others.
inline constexpr Extractor<RankBlocks> kComputeBlocks{"compute blocks", withoutQuery<extractComputeBlocks>};

inline constexpr Extractor<NativeChecks> kNativeChecks{"native checks", withoutQuery<extractNativeChecks>};

/// Categories of slices, with their numbers of slices.
using CategoryCounts = std::map<std::string, std::size_t>;
[[nodiscard]] Result<std::vector<CategoryCounts>> extractCategories(TracePartition& partition);
inline constexpr Extractor<CategoryCounts> kCategories{"categories", withoutQuery<extractCategories>};

/// All tasks that processes run while a run is loaded.
[[nodiscard]] PartitionTasks loadTasks();

template <class Wire>
void fields(Wire& wire, RunInfo& value) {
    auto& [source, backend, schedule, flavor, pp, dp, tp, microbatches, vpp, placement, paced, pace_tolerance, faults] =
        value;
    wire(source, backend, schedule, flavor, pp, dp, tp, microbatches, vpp, placement, paced, pace_tolerance, faults);
}
template <class Wire>
void fields(Wire& wire, NativeMarks::Statement& value) {
    auto& [time, info] = value;
    wire(time, info);
}
template <class Wire>
void fields(Wire& wire, NativeMarks& value) {
    auto& [statements, ops, gaps, by_events, comm, other_tensor_ranks] = value;
    wire(statements);
    wireFound(wire, ops);
    wireBlock(wire, gaps);
    wire(by_events);
    wireFound(wire, comm);
    wire(other_tensor_ranks);
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
    auto& [file, track, slice, name, start, end, pid, on_device, owner, replica, step, kind, transfer, microbatch,
           chunk_or_stage, sequence, overlapped, device] = value;
    wire(file, track, slice, name, start, end, pid, on_device, owner, replica, step, kind, transfer, microbatch,
         chunk_or_stage, sequence, overlapped, device);
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
    auto& [steps, receives, stated] = value;
    wire(steps, receives, stated);
}
template <class Wire>
void fields(Wire& wire, ComputeBlock& value) {
    auto& [backward, host_start, host_end, work, idle, busy, transfer_before, sends, forward, calls] = value;
    wire(backward, host_start, host_end, work, idle, busy, transfer_before, sends, forward, calls);
}
template <class Wire>
void fields(Wire& wire, HostEvent& value) {
    auto& [kind, at, host_end, work, linked, call, direction, peer] = value;
    wire(kind, at, host_end, work, linked, call, direction, peer);
}
template <class Wire>
void fields(Wire& wire, RankBlocks& value) {
    auto& [rank, blocks, transfers, calls, on_device] = value;
    wire(rank, blocks, transfers, calls, on_device);
}
template <class Wire>
void fields(Wire& wire, RuleQuery& value) {
    wire(value.rule);
}

} // namespace bubblescope
