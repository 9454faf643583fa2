#pragma once

#include "core/analysis/step_diagnosis.h"
#include "core/base/packed_list.h"
#include "core/base/wire_blocks.h"
#include "core/theory/analysis.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// Serialization (core/base/wire.h) of steps and of what is kept of them: for processes that judge steps of a run.
namespace bubblescope {

template <class Wire>
void fields(Wire& wire, StepTimeline& value) {
    auto& [index, replica, pp, microbatches, vpp, placement, begin, end, ranks, comm, details] = value;
    wire(index, replica, pp, microbatches, vpp, placement, begin, end);
    wireBlocks(wire, ranks);
    wireBlocks(wire, comm);
    wireBlock(wire, details);
}
template <class Wire>
void fields(Wire& wire, Schedule& value) {
    auto& [name, flavor, pp, microbatches, vpp, placement, ranks] = value;
    wire(name, flavor, pp, microbatches, vpp, placement);
    wireBlocks(wire, ranks);
}
/// Without what is known of a single step.
template <class Wire>
void fields(Wire& wire, StepStandards& value) {
    auto& [usual, plan, known] = value;
    wire(usual, plan, known.clock_error, known.records_lost);
}
template <class Wire>
void fields(Wire& wire, OpTimes& value) {
    auto& [forward, backward, input_grad, weight_grad, optimizer] = value;
    wire(forward, backward, input_grad, weight_grad, optimizer);
}
template <class Wire>
void fields(Wire& wire, BubbleRates& value) {
    auto& [over_makespan, span, over_ideal] = value;
    wire(over_makespan, span, over_ideal);
}
/// Packed, as it is kept.
template <class T>
void fields(WireWriter& wire, const PackedList<T>& value) {
    PackedList<T> packed = value;
    packed.pack();
    wire(std::uint64_t{packed.size()});
    wireBlock(wire, packed.packed());
}
template <class T>
void fields(WireReader& wire, PackedList<T>& value) {
    std::uint64_t size = 0;
    std::vector<std::uint8_t> bytes;
    wire(size);
    wireBlock(wire, bytes);
    auto list = size <= bytes.size() ? PackedList<T>::ofPacked(size, std::move(bytes)) : std::nullopt;
    if (!list) return wire.reject();
    value = *std::move(list);
}
/// Its totals, see StepAnalysis::keepTotals().
template <class Wire>
void fields(Wire& wire, ClosedForm& value) {
    wire(value.makespan, value.kind, value.bubble_rate, value.span_bubble_rate, value.over_ideal, value.f_then_b);
}
template <class Wire>
void fields(Wire& wire, StepAnalysis& value) {
    auto& [index, replica, order_of_previous, wall, rates, typical, form, at_least, form_note, positions_known, ranks,
           bubbles] = value;
    wire(index, replica, order_of_previous, wall, rates, typical, form, at_least, form_note, positions_known, ranks);
    (void)bubbles; // not kept
}
template <class Wire>
void fields(Wire& wire, WaterfallStep& value) {
    auto& [cause, adds, alone, without] = value;
    wire(cause, adds, alone, without);
}
template <class Wire>
void fields(Wire& wire, StepAccounting& value) {
    auto& [ranks, ideal, waterfall, planned_order, recorded, estimated, ignored, early_starts] = value;
    wire(ranks, ideal, waterfall, planned_order, recorded, estimated, ignored, early_starts);
}

} // namespace bubblescope
