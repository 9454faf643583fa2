#pragma once

#include "core/base/wire.h"
#include "core/recognise/compute_blocks.h"
#include "core/recognise/native_files.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/raw_trace.h"
#include "core/recognise/rule_matches.h"

#include <algorithm>
#include <cstdint>
#include <vector>

// Serialization of the values that recognition derives from raw slices, for extracts (base/wire.h, raw_trace.h).
// Readers reject values that no extractor produces, because an extract may be malicious.
namespace bubblescope {

template <class Wire>
void fields(Wire& wire, FoundNumber& value) {
    std::int64_t number = value;
    wire(number);
    value = number;
}
template <class Wire>
void fields(Wire& wire, FoundOp& value) {
    wire(value.owner, value.step, value.microbatch, value.chunk_or_stage, value.sequence, value.replica,
         value.overlapped);
    wire.enumeration(value.kind, OpKind::Optimizer);
    wire.span(value.start, value.end);
    bool detailed = value.details != OpDetails{};
    wire(detailed);
    if (detailed) wire(value.details.lateness, value.details.device_idle, value.details.exposed_comm);
}
template <class Wire>
void fields(Wire& wire, FoundComm& value) {
    auto& [owner, step, kind, payload, unknown_communicator, microbatch, stage, start, end, sequence, replica] = value;
    wire(owner, step, microbatch, stage, sequence, replica);
    wire.enumeration(kind, CommKind::Collective);
    wire.enumeration(payload, Payload::Gradient);
    wire.span(start, end);
}
// A list with one entry per track. Not inline: otherwise each user would instantiate all nested templates.
void fields(WireWriter& wire, const FoundOpPieces& value);
void fields(WireReader& wire, FoundOpPieces& value);
void fields(WireWriter& wire, const Pieces<FoundComm>& value);
void fields(WireReader& wire, Pieces<FoundComm>& value);
template <class Wire>
void fields(Wire& wire, RunInfo& value) {
    auto& [source, backend, schedule, flavor, pp, dp, tp, microbatches, vpp, steps, placement, paced, pace_tolerance,
           faults] = value;
    wire(source, backend, schedule, flavor, pp, dp, tp, microbatches, vpp, steps, paced, faults);
    wire(placement);
    if constexpr (requires { wire.left(); }) {
        if (placementFromName(placementName(placement)) != placement) wire.reject();
    }
    wire.duration(pace_tolerance);
}
template <class Wire>
void fields(Wire& wire, NativeMarks::Statement& value) {
    auto& [time, info, process] = value;
    wire.instant(time);
    wire(info, process);
}
template <class Wire>
void fields(Wire& wire, EventGap& value) {
    auto& [begin, end] = value;
    wire(begin, end);
}
template <class Wire>
void fields(Wire& wire, NativeMarks& value) {
    auto& [statements, ops, gaps, by_events, comm, other_tensor_ranks, owners, has_end, failure] = value;
    wire(statements, ops, gaps, by_events, comm, other_tensor_ranks, owners, has_end, failure);
}

template <class Wire>
void fields(Wire& wire, DigestRecord& value) {
    auto& [step, rank, replica, tensor_rank, op, layer, tensor, digest, time] = value;
    wire(step, rank, replica, tensor_rank, op, layer, tensor, digest);
    wire.instant(time);
}
template <class Wire>
void fields(Wire& wire, CheckPlace& value) {
    auto& [replica, rank, tensor_rank] = value;
    wire(replica, rank, tensor_rank);
}
template <class Wire>
void fields(Wire& wire, CheckedDevice& value) {
    auto& [host, device] = value;
    wire(host, device);
}

/// A list; `each` reads or writes one of its elements.
template <class Wire, class T, class Each>
void wireList(Wire& wire, std::vector<T>& list, const Each& each) {
    std::uint64_t count = list.size();
    wire(count);
    if constexpr (requires { wire.left(); }) {
        if (count > wire.left()) return wire.reject();
        list.clear();
        for (std::uint64_t i = 0; i < count && !wire.failed(); ++i)
            each(list.emplace_back());
    } else {
        for (T& value : list)
            each(value);
    }
}
template <class Wire>
void wireCheck(Wire& wire, CheckRecord& value) {
    auto& [kind, outcome, verdict, step, rank, replica, tensor_rank, op, layer, tensor, first, second, start, end,
           difference] = value;
    wire.enumeration(kind, CheckKind::Elsewhere);
    wire.enumeration(outcome, CheckOutcome::Skipped);
    wire.enumeration(verdict, Verdict::Everywhere);
    wire(step, rank, replica, tensor_rank, op, layer, tensor, first, second, difference);
    wire.span(start, end);
}
/// Numbers that native_args.h accepts in a record.
template <class Record>
[[nodiscard]] bool canBeRead(const Record& record) {
    const auto count = [](std::int64_t number) { return number >= 0 && number < kMaxOwnCount; };
    return isSane(record.op) && count(record.step) && count(record.rank.value) && count(record.replica) &&
           count(record.tensor_rank) && count(record.layer) && count(record.op.microbatch.value) &&
           count(record.op.chunk.value);
}
template <class Wire>
void fields(Wire& wire, NativeChecks& value) {
    auto& [checks, recorded, stages, layers, hardware, digests, devices, problems] = value;
    const auto check = [&](CheckRecord& record) { wireCheck(wire, record); };
    wireList(wire, checks, check);
    wireList(wire, recorded, check);
    wire(stages, layers, hardware, digests, devices, problems);
    if constexpr (requires { wire.left(); }) {
        const auto sane = [](const auto& record) { return canBeRead(record); };
        const auto count = [](Stage stage) { return stage.value >= 0 && stage.value < kMaxOwnCount; };
        const bool sound = std::ranges::all_of(checks, sane) && std::ranges::all_of(recorded, sane) &&
                           std::ranges::all_of(digests, sane) && stages.size() == recorded.size() &&
                           std::ranges::all_of(stages, count) && std::ranges::all_of(layers, [&](const auto& stage) {
                               return count(stage.first) && stage.second >= 0 && stage.second < kMaxOwnCount;
                           });
        if (!sound) wire.reject();
    }
}

template <class Wire>
void fields(Wire& wire, GpuWork::Span& value) {
    auto& [start, end] = value;
    wire.span(start, end);
}
template <class Wire>
void fields(Wire& wire, GpuWork::Work& value) {
    auto& [start, end, idle, device] = value;
    wire.span(start, end);
    wire.duration(idle);
    wire(device);
}
/// The reader sets the file index.
template <class Wire>
void fields(Wire& wire, RuleMatch& value) {
    auto& [file, track, slice, name, start, end, pid, on_device, spilled, owner, replica, step, kind, transfer,
           microbatch, chunk_or_stage, sequence, overlapped, device, communicator] = value;
    wire(track, slice, name, pid, on_device, spilled, owner, replica, step, transfer, microbatch, chunk_or_stage,
         sequence, overlapped, device, communicator);
    wire.span(start, end);
    bool op = kind.has_value();
    wire(op);
    if (!op) return;
    OpKind of_op = kind.value_or(OpKind::Forward);
    wire.enumeration(of_op, OpKind::Optimizer);
    kind = of_op;
}
template <class Wire>
void fields(Wire& wire, RuleFinds& value) {
    auto& [matches, names, communicators, unlabelled, other_tensor_ranks] = value;
    wire(matches, names, communicators, unlabelled, other_tensor_ranks);
    if constexpr (requires { wire.left(); }) {
        const bool sound = std::ranges::all_of(matches, [&](const RuleMatch& match) {
            return match.name < value.names.size() && match.communicator <= value.communicators.size();
        });
        if (!sound) wire.reject();
    }
}
template <class Wire>
void fields(Wire& wire, Mark& value) {
    auto& [index, start, end] = value;
    wire(index);
    wire.span(start, end);
}
template <class Wire>
void fields(Wire& wire, ProfilerMarks& value) {
    auto& [steps, receives, stated, kernels_sampled, kernel_steps, is_captured, has_end, signal, ended] = value;
    wire(steps, receives, stated, kernels_sampled, kernel_steps, is_captured, has_end, signal, ended);
}
template <class Wire>
void fields(Wire& wire, ComputeBlock& value) {
    auto& [backward, host_start, host_end, work, idle, busy, transfer_before, sends, forward, calls] = value;
    wire(backward, work, transfer_before, sends, forward, calls);
    wire.span(host_start, host_end);
    wire.duration(idle, busy);
}
template <class Wire>
void fields(Wire& wire, HostEvent& value) {
    auto& [kind, at, host_end, work, linked, call, direction, peer, communicator] = value;
    wire.enumeration(kind, HostEventKind::Collective);
    wire.span(at, host_end);
    wire(work, linked, call, peer, communicator);
    bool directed = direction.has_value();
    wire(directed);
    if (!directed) return;
    CommKind to = direction.value_or(CommKind::Send);
    wire.enumeration(to, CommKind::Collective);
    direction = to;
}
template <class Wire>
void fields(Wire& wire, RankBlocks& value) {
    auto& [rank, blocks, transfers, calls, communicators, on_device] = value;
    wire(rank, blocks, transfers, calls, communicators, on_device);
    if constexpr (requires { wire.left(); }) {
        const auto known = [&](const HostEvent& call) { return call.communicator <= value.communicators.size(); };
        const bool sound = std::ranges::all_of(blocks,
                                               [&](const ComputeBlock& block) {
                                                   return block.forward.value_or(0) < value.blocks.size() &&
                                                          block.calls_before <= value.calls.size() &&
                                                          block.sends_before >= 0;
                                               }) &&
                           std::ranges::all_of(transfers, known);
        if (!sound) wire.reject();
    }
}

// Sets the file index in a value. A rank that is not recorded in the file is kUnknownRank in an extract
// (raw_trace.h).
inline void moveTo(std::uint32_t file, std::int64_t rank, RuleFinds& value) {
    for (RuleMatch& match : value.matches) {
        match.file = file;
        if (match.owner == kUnknownRank) match.owner = rank;
    }
}
/// True if this rule could have produced the value.
[[nodiscard]] inline bool fits(const RuleFinds& value, const RecognitionRule& rule) {
    return std::ranges::all_of(value.matches, [&](const RuleMatch& match) {
        return match.transfer ? *match.transfer < rule.transfers.size() && !match.kind : match.kind.has_value();
    });
}
inline void moveTo(std::uint32_t /*file*/, std::int64_t rank, RankBlocks& value) {
    value.rank = value.blocks.empty() ? 0 : rank; // as extractComputeBlocks() does, regardless of the extract
}

} // namespace bubblescope
