#include "core/recognise/encoders.h"

#include "core/families/registry.h"
#include "core/recognise/match_schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace bubblescope {
namespace {

/// Number of forwards before a rank's first backward, without the one in its first pair.
int warmUpOf(const std::vector<Op>& ops) {
    int forwards = 0;
    for (const Op& op : ops) {
        if (op.kind == OpKind::Backward) break;
        forwards += op.kind == OpKind::Forward ? 1 : 0;
    }
    return forwards - 1;
}

/// True if all gradients of a rank may have come from another one.
bool mayFeed(const StepTimeline& step, Rank from, Rank to) {
    std::map<Microbatch, TimeNs> ends;
    for (const TimelineOp& op : step.ranks[from.index()]) {
        if (op.op.kind == OpKind::Backward) ends[op.op.microbatch] = op.end;
    }
    return std::ranges::all_of(step.ranks[to.index()], [&](const TimelineOp& op) {
        return op.op.kind != OpKind::Backward || ends[op.op.microbatch] <= op.start;
    });
}

} // namespace

Encoders shownEncoders(const StepTimeline& step) {
    if (step.vpp != 1 || step.placement != Placement::Loop || step.pp < 3) return {};
    const Schedule observed = observedOrder(step);
    std::vector<int> warm_up;
    for (const auto& ops : observed.ranks)
        warm_up.push_back(warmUpOf(ops));
    if (observed.microbatches <= warm_up.front() + 1) return {};
    std::vector<int> borders; // the ranks at which the count does not go on
    for (int r = 1; r < step.pp; ++r) {
        if (warm_up[Rank{r}.index()] != warm_up[Rank{r}.index() - 1] - 1) borders.push_back(r);
    }
    if (borders.empty() || borders.size() > 2) return {};
    const int first = borders.front();
    std::optional<int> trunk;
    if (borders.size() == 2) trunk = borders.back();
    // A trunk that follows the second encoder without a border begins after at least as many ranks as the first has.
    for (int r = 2 * first; !trunk && r < step.pp; ++r) {
        if (mayFeed(step, Rank{r}, Rank{first - 1})) trunk = r;
    }
    if (!trunk) return {};
    ScheduleSpec spec{"1f1b", "", step.pp, step.microbatches};
    spec.encoders = {first, *trunk - first};
    const auto made = makeSchedule(spec);
    return made.ok() && made.value().ranks == observed.ranks ? spec.encoders : Encoders{};
}

} // namespace bubblescope
