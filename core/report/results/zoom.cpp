#include "core/report/results/zoom.h"

#include "core/base/field.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace bubblescope::report {
namespace {

/// Places in kZoomKinds.
enum class ZoomKind : std::size_t { Forward, Backward, BackwardInput, BackwardWeight, Optimizer, Bubble, Transfer };

constexpr std::array<ZoomTimeline::Kind, 7> kZoomKinds{
    {{"forward", colours::kForward, "#ffffff"},
     {"backward", colours::kBackward, "#14181d"},
     {"backward for the input", colours::kBackwardInput, "#14181d"},
     {"backward for the weights", colours::kBackwardWeight, "#14181d"},
     {"optimizer", colours::kOptimizer, "#ffffff"},
     {"bubble", colours::kBubbleHatch, "#14181d"},
     {"transfer", "#8a5fc4", "#ffffff"}}};

std::size_t zoomPlaceOf(ZoomKind kind) {
    return static_cast<std::size_t>(kind);
}

std::size_t zoomKindOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return zoomPlaceOf(ZoomKind::Forward);
    case OpKind::Backward: return zoomPlaceOf(ZoomKind::Backward);
    case OpKind::BackwardInput: return zoomPlaceOf(ZoomKind::BackwardInput);
    case OpKind::BackwardWeight: return zoomPlaceOf(ZoomKind::BackwardWeight);
    case OpKind::Optimizer: break;
    }
    return zoomPlaceOf(ZoomKind::Optimizer);
}

std::string zoomStepName(const StepTimeline& step, const Run& run) {
    const bool replicas = std::ranges::any_of(run.steps, [](const StepTimeline& one) { return one.replica != 0; });
    return replicas ? fmt::format("step {}, replica {}", step.index, step.replica) : fmt::format("step {}", step.index);
}

std::string zoomTransferName(const CommSpan& span) {
    const char* word = span.kind == CommKind::Send      ? "send"
                       : span.kind == CommKind::Receive ? "receive"
                       : span.kind == CommKind::Wait    ? "wait for"
                                                        : "collective of";
    return fmt::format("{} {}", word, span.microbatch.value);
}

using ZoomBubbles = std::vector<std::vector<Bubble>>; ///< per rank

std::size_t zoomItemsOf(const StepTimeline& step, const ZoomBubbles& of_ranks, std::size_t rank) {
    const std::size_t transfers = rank < step.comm.size() ? step.comm[rank].size() : 0;
    const std::size_t bubbles = rank < of_ranks.size() ? of_ranks[rank].size() : 0;
    return step.ranks[rank].size() + bubbles + transfers;
}

std::size_t zoomItemsOf(const StepTimeline& step, const ZoomBubbles& bubbles) {
    std::size_t whole = 0;
    for (std::size_t rank = 0; rank < step.ranks.size(); ++rank)
        whole += zoomItemsOf(step, bubbles, rank);
    return whole;
}

void addZoomRows(const StepTimeline& step, const ZoomBubbles& bubbles, std::size_t rank, ZoomTimeline::Step& out) {
    ZoomTimeline::Row row{fmt::format("rank {}", rank), {}};
    for (const TimelineOp& op : step.ranks[rank])
        row.items.push_back({zoomKindOf(op.op.kind), opName(op.op), op.start - step.begin, op.duration()});
    if (rank < bubbles.size()) {
        for (const Bubble& bubble : bubbles[rank])
            row.items.push_back({zoomPlaceOf(ZoomKind::Bubble), formatTime(bubble.duration()),
                                 bubble.start - step.begin, bubble.duration()});
    }
    std::ranges::stable_sort(row.items, {}, &ZoomTimeline::Item::start);
    out.rows.push_back(std::move(row));
    if (rank >= step.comm.size() || step.comm[rank].empty()) return;
    ZoomTimeline::Row transfers{"transfers", {}};
    for (const CommSpan& span : step.comm[rank])
        transfers.items.push_back(
            {zoomPlaceOf(ZoomKind::Transfer), zoomTransferName(span), span.start - step.begin, span.end - span.start});
    out.rows.push_back(std::move(transfers));
}

/// The indices of the steps that have ops, most worth seeing first.
std::vector<std::size_t> stepsByWorth(const Run& run, const RunReport& report) {
    std::vector<std::size_t> order{report.typicalStep()};
    const auto add = [&](std::size_t at) {
        if (run.steps[at].hasOps() && std::ranges::find(order, at) == order.end()) order.push_back(at);
    };
    for (const Anomaly& anomaly : report.anomalies) {
        if (!anomaly.step) continue;
        for (std::size_t at = 0; at < run.steps.size(); ++at) {
            const bool same = run.steps[at].index == *anomaly.step &&
                              run.steps[at].replica == anomaly.replica.value_or(run.steps[at].replica);
            if (same) add(at);
        }
    }
    std::set<std::size_t> named(order.begin(), order.end());
    for (std::size_t at = 0; at < run.steps.size(); ++at) {
        if (run.steps[at].hasOps() && !named.contains(at)) order.push_back(at);
    }
    return order;
}

/// The ranks of a step, those that findings name first.
std::vector<std::size_t> ranksByWorth(const RunReport& report, std::size_t count) {
    std::vector<std::size_t> order;
    const auto add = [&](std::size_t rank) {
        if (rank < count && std::ranges::find(order, rank) == order.end()) order.push_back(rank);
    };
    for (const Anomaly& anomaly : report.anomalies) {
        if (anomaly.rank) add(anomaly.rank->index());
        if (anomaly.peer) add(anomaly.peer->index());
        if (order.size() >= count) break;
    }
    std::vector<bool> named(count, false);
    for (const std::size_t rank : order)
        named[rank] = true;
    for (std::size_t rank = 0; rank < count; ++rank) {
        if (!named[rank]) order.push_back(rank);
    }
    return order;
}

} // namespace

ZoomTimeline zoomTimeline(const Run& run, const RunReport& report, std::size_t most_items) {
    ZoomTimeline timeline;
    if (run.steps.empty()) return timeline;
    timeline.kinds.assign(kZoomKinds.begin(), kZoomKinds.end());
    timeline.description = "Timeline of all ranks, step by step";
    std::size_t items = 0;
    std::size_t ranks_left_out = 0;
    const std::vector<std::size_t> order = stepsByWorth(run, report);
    for (const std::size_t at : order) {
        const StepTimeline& step = run.steps[at];
        const auto hasNoRoom = [&](const ZoomBubbles& of_step) {
            return !timeline.steps.empty() && items + zoomItemsOf(step, of_step) > most_items;
        };
        if (hasNoRoom({})) continue; // even without any bubbles
        const ZoomBubbles bubbles = findBubbles(step);
        if (hasNoRoom(bubbles)) continue;
        std::vector<std::size_t> ranks = ranksByWorth(report, step.ranks.size());
        std::size_t taken = 0;
        std::size_t kept = 0;
        while (kept < ranks.size() && (kept == 0 || taken + zoomItemsOf(step, bubbles, ranks[kept]) <= most_items))
            taken += zoomItemsOf(step, bubbles, ranks[kept++]);
        if (timeline.steps.empty()) ranks_left_out = ranks.size() - kept;
        ranks.resize(kept);
        std::ranges::sort(ranks);
        ZoomTimeline::Step& out = timeline.steps.emplace_back();
        out.name = zoomStepName(step, run);
        out.length = step.wall();
        for (const std::size_t rank : ranks) {
            addZoomRows(step, bubbles, rank, out);
            for (const ZoomTimeline::Item& item : out.rows.back().items)
                out.length = std::max(out.length, item.start + item.length);
        }
        items += taken;
    }
    timeline.note =
        fmt::format("{} of {} steps, {} ops, bubbles and transfers.", timeline.steps.size(), run.steps.size(), items);
    if (timeline.steps.size() < order.size())
        timeline.note += fmt::format(" A page shows at most {}; steps with findings come first.", most_items);
    if (order.size() < run.steps.size())
        timeline.note +=
            fmt::format(" The run was analysed in parts; ops of other steps are not stored. {} shows another step.",
                        Field("step").is("N"));
    if (ranks_left_out > 0)
        timeline.note += fmt::format(
            " A single step exceeds this limit: {} ranks are omitted; ranks with findings are shown.", ranks_left_out);
    return timeline;
}

} // namespace bubblescope::report
