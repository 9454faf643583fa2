#pragma once

#include "core/analysis/step_diagnosis.h"
#include "core/base/wire.h"
#include "core/theory/analysis.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <type_traits>
#include <vector>

// Serialization (core/base/wire.h) of steps and of what is kept of them: for processes that judge steps of a run.
// Lists of plain values are sent as they lie in memory.
namespace bubblescope {

template <class T>
void wireBlock(WireWriter& wire, const std::vector<T>& list) {
    static_assert(std::is_trivially_copyable_v<T>);
    wire(std::uint64_t{list.size()});
    wire.block(list.data(), list.size() * sizeof(T));
}
template <class T>
void wireBlock(WireReader& wire, std::vector<T>& list) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::uint64_t count = 0;
    wire(count);
    if (count > wire.left() / sizeof(T)) return wire.reject();
    list.resize(count);
    wire.block(list.data(), list.size() * sizeof(T));
}
template <class T>
void wireBlocks(WireWriter& wire, const std::vector<std::vector<T>>& lists) {
    wire(std::uint64_t{lists.size()});
    for (const std::vector<T>& list : lists)
        wireBlock(wire, list);
}
template <class T>
void wireBlocks(WireReader& wire, std::vector<std::vector<T>>& lists) {
    std::uint64_t count = 0;
    wire(count);
    if (count > wire.left() / sizeof count) return wire.reject(); // each has its size
    lists.resize(count);
    for (std::vector<T>& list : lists)
        wireBlock(wire, list);
}

template <class Wire>
void fields(Wire& wire, StepTimeline& value) {
    auto& [index, replica, pp, microbatches, vpp, placement, begin, end, ranks, comm] = value;
    wire(index, replica, pp, microbatches, vpp, placement, begin, end);
    wireBlocks(wire, ranks);
    wireBlocks(wire, comm);
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
/// Its totals, see StepAnalysis::keepTotals().
template <class Wire>
void fields(Wire& wire, ClosedForm& value) {
    wire(value.makespan, value.kind, value.bubble_rate, value.span_bubble_rate, value.over_ideal, value.f_then_b);
}
template <class Wire>
void fields(Wire& wire, StepAnalysis& value) {
    auto& [index, replica, order_of_previous, wall, rates, typical, form, at_least, form_note, positions_known, ranks,
           bubbles] = value;
    wire(index, replica, order_of_previous, wall, rates, typical, form, at_least, form_note, positions_known);
    wireBlock(wire, ranks);
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
    wireBlock(wire, ranks);
    wire(ideal, waterfall, planned_order, recorded, estimated, ignored, early_starts);
}

} // namespace bubblescope
