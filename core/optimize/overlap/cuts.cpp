#include "core/optimize/overlap/cuts.h"

#include <algorithm>
#include <utility>

namespace bubblescope::overlap {
namespace {

int size(const Operators& ops) {
    return static_cast<int>(ops.size());
}

/// `cuts` holds, for each pass, where its pieces but the last end.
Plan inTurn(Operators backward, Operators forward, const PerPass<std::vector<int>>& cuts) {
    Plan plan{{std::move(backward), std::move(forward)}, {}};
    PerPass<int> at{};
    for (std::size_t k = 0; k <= std::max(cuts[0].size(), cuts[1].size()); ++k) {
        for (const Pass pass : {Pass::Backward, Pass::Forward}) {
            const auto& ends = cuts[passIndex(pass)];
            int& first = at[passIndex(pass)];
            const int end = k < ends.size() ? ends[k] : size(plan.of(pass));
            if (k > ends.size() || first == end) continue;
            plan.pieces.push_back({pass, first, end});
            first = end;
        }
    }
    return plan;
}

} // namespace

Plan uncut(Operators ops, Pass pass) {
    Plan plan;
    const int end = size(ops);
    plan.ops[passIndex(pass)] = std::move(ops);
    plan.pieces.push_back({pass, 0, end});
    return plan;
}

Plan uncut(Operators backward, Operators forward) {
    return inTurn(std::move(backward), std::move(forward), {});
}

Plan cutAtEveryAllReduce(Operators backward, Operators forward) {
    PerPass<std::vector<int>> cuts;
    PerPass<Operators*> passes{&backward, &forward};
    for (const Pass pass : {Pass::Backward, Pass::Forward}) {
        Operators& ops = *passes[passIndex(pass)];
        for (int i = 0; i < size(ops); ++i) {
            Operator& op = ops[static_cast<std::size_t>(i)];
            if (!op.all_reduce) continue;
            op.own_stream = true;
            if (i + 1 < size(ops)) cuts[passIndex(pass)].push_back(i + 1);
        }
    }
    return inTurn(std::move(backward), std::move(forward), cuts);
}

RuleCut cutByBudget(Operators backward, Operators forward, TimeNs budget) {
    RuleCut cut;
    PerPass<std::vector<int>> cuts;
    int taken = 0; // forward ops in pieces so far
    for (int b = 0; b < size(backward) && cut.stop == CutStop::None; ++b) {
        if (!backward[static_cast<std::size_t>(b)].all_reduce) continue;
        int end = taken;
        TimeNs sum{0};
        while (end < size(forward)) {
            const Operator& op = forward[static_cast<std::size_t>(end)];
            sum += op.all_reduce ? TimeNs{0} : op.assumed;
            if (sum > budget) break;
            ++end;
            if (op.all_reduce) break;
        }
        if (end == taken) {
            cut.stop = taken == size(forward) ? CutStop::ForwardUsedUp : CutStop::ForwardTooLong;
            cut.stopped_at = taken;
            continue;
        }
        backward[static_cast<std::size_t>(b)].own_stream = true;
        cuts[passIndex(Pass::Backward)].push_back(b + 1);
        cuts[passIndex(Pass::Forward)].push_back(end);
        Operator& last = forward[static_cast<std::size_t>(end - 1)];
        last.own_stream = last.own_stream || last.all_reduce;
        taken = end;
    }
    cut.plan = inTurn(std::move(backward), std::move(forward), cuts);
    return cut;
}

RuleCut cutByBudgetSplitting(const Operators& backward, Operators forward, TimeNs budget, int most_slices,
                             double slice_loss) {
    while (true) {
        RuleCut cut = cutByBudget(backward, forward, budget);
        if (cut.stop != CutStop::ForwardTooLong) return cut;
        const auto at = forward.begin() + cut.stopped_at;
        const Operators slices = splitLongOps({*at}, budget, most_slices, slice_loss);
        const bool fit = std::ranges::all_of(slices, [&](const Operator& one) { return one.time <= budget; });
        if (slices.size() == 1 || !fit) return cut;
        forward.insert(forward.erase(at), slices.begin(), slices.end());
    }
}

} // namespace bubblescope::overlap
