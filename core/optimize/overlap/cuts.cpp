#include "core/optimize/overlap/cuts.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace bubblescope::overlap {
namespace {

int size(const Operators& ops) {
    return static_cast<int>(ops.size());
}

/// `cuts` has, for each pass, the ends of all pieces except the last.
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

RuleCut cutByBudgetSplitting(const Operators& backward, Operators forward, TimeNs budget, int max_slices,
                             double slice_loss) {
    while (true) {
        RuleCut cut = cutByBudget(backward, forward, budget);
        if (cut.stop != CutStop::ForwardTooLong) return cut;
        const auto at = forward.begin() + cut.stopped_at;
        const Operators slices = splitLongOps({*at}, budget, max_slices, slice_loss);
        const bool fit = std::ranges::all_of(slices, [&](const Operator& one) { return one.time <= budget; });
        if (slices.size() == 1 || !fit) return cut;
        forward.insert(forward.erase(at), slices.begin(), slices.end());
    }
}

namespace {

constexpr Pass kBoth[] = {Pass::Backward, Pass::Forward};

/// A compute op with the all-reduce directly after it, if there is one.
struct Step {
    const Operator* op = nullptr;
    const Operator* all_reduce = nullptr;
    int end = 0; ///< operators of the pass up to here
};

std::vector<Step> stepsOf(const Operators& ops) {
    std::vector<Step> steps;
    for (const Operator& op : ops) {
        if (op.all_reduce) {
            steps.back().all_reduce = &op;
            ++steps.back().end;
        } else {
            steps.push_back({&op, nullptr, steps.empty() ? 1 : steps.back().end + 1});
        }
    }
    return steps;
}

/// One way to issue the ops so far.
struct Way {
    StreamState state;
    int cuts = 0;
    std::uint32_t parent = 0; ///< index among all kept ways
};

class Search {
public:
    Search(Plan plan, const StreamRules& rules) : plan_(std::move(plan)), rules_(rules) {
        for (const Pass pass : kBoth) {
            auto& steps = steps_[passIndex(pass)];
            steps = stepsOf(plan_.of(pass));
            auto& left = left_[passIndex(pass)];
            left.resize(steps.size() + 1);
            for (std::size_t k = steps.size(); k-- > 0;) {
                left[k].all = left[k + 1].all + steps[k].op->time;
                left[k].waiting = steps[k].op->waits_reduce ? left[k].all : left[k + 1].waiting;
            }
        }
        best_ = runPlan(cutAtEveryAllReduce(plan_.ops[0], plan_.ops[1]), rules_).end();
        best_ = std::min(best_, runPlan(uncut(plan_.ops[0], plan_.ops[1]), rules_).end());
        best_ = std::min(best_, readyFirst());
    }

    Plan run() {
        const std::size_t columns = steps_[1].size() + 1;
        std::vector<Node> row(columns);
        for (std::size_t i = 0; i <= steps_[0].size(); ++i) {
            std::vector<Node> next(columns);
            for (std::size_t j = 0; j < columns; ++j) {
                if (i == 0 && j == 0) {
                    // Nothing is issued yet, so it does not matter which pass was last.
                    next[0][0].push_back({});
                    trail_.push_back({});
                    continue;
                }
                if (i > 0) extend(row[j], Pass::Backward, i - 1, j, next[j][0]);
                if (j > 0) extend(next[j - 1], Pass::Forward, j - 1, i, next[j][1]);
                for (const Pass pass : kBoth)
                    keep(next[j][passIndex(pass)], pass);
            }
            row = std::move(next);
        }
        return trace(row.back());
    }

private:
    using Node = PerPass<std::vector<Way>>;
    /// Remaining compute time of a pass from a step on: of all its steps, and of those from the first one that waits
    /// for the pass's last all-reduce.
    struct Left {
        TimeNs all{0};
        TimeNs waiting{0};
    };
    struct Trail {
        std::uint32_t parent = 0;
        Pass pass = Pass::Backward;
    };

    StreamState issue(StreamState state, Pass pass, const Step& step, bool resumes) const {
        if (resumes) state.compute += rules_.cut_time;
        state.issueCompute(pass, *step.op, TimeNs{0});
        if (step.all_reduce) state.issueAllReduce(pass, step.all_reduce->time, rules_.high_priority);
        return state;
    }

    static TimeNs endOf(StreamState state) {
        state.grantQueued(state.compute);
        return std::max({state.compute, state.reduced[0], state.reduced[1]});
    }

    /// A plan without search: always issues the op that can start first; in a tie, the backward's.
    [[nodiscard]] TimeNs readyFirst() const {
        StreamState state;
        PerPass<std::size_t> at{};
        int last = -1;
        while (at[0] < steps_[0].size() || at[1] < steps_[1].size()) {
            const auto start = [&](Pass pass) {
                const std::size_t k = at[passIndex(pass)];
                const auto& steps = steps_[passIndex(pass)];
                if (k == steps.size()) return TimeNs::max();
                return std::max(state.compute, steps[k].op->waits_reduce ? state.reduced[passIndex(pass)] : TimeNs{0});
            };
            const Pass pass = start(Pass::Forward) < start(Pass::Backward) ? Pass::Forward : Pass::Backward;
            std::size_t& k = at[passIndex(pass)];
            const bool resumes = k > 0 && last >= 0 && last != static_cast<int>(pass);
            state = issue(state, pass, steps_[passIndex(pass)][k], resumes);
            last = static_cast<int>(pass);
            ++k;
        }
        return endOf(state);
    }

    /// Adds the ways that extend those of `from` by step k of `pass`; the other pass has issued `other` steps.
    void extend(const Node& from, Pass pass, std::size_t k, std::size_t other, std::vector<Way>& to) const {
        const Step& step = steps_[passIndex(pass)][k];
        const std::size_t mine = passIndex(pass);
        const Left& left_mine = left_[mine][k + 1];
        const Left& left_other = left_[1 - mine][other];
        for (const Pass last : kBoth) {
            const bool resumes = k > 0 && last != pass;
            for (const Way& way : from[passIndex(last)]) {
                Way longer{issue(way.state, pass, step, resumes), way.cuts + (last != pass ? 1 : 0), way.parent};
                StreamState& state = longer.state;
                const bool hopeless = state.compute + left_mine.all + left_other.all > best_ ||
                                      state.reduced[mine] + left_mine.waiting > best_ ||
                                      state.reduced[1 - mine] + left_other.waiting > best_;
                if (hopeless) continue;
                for (TimeNs* time : {&state.reduced[0], &state.reduced[1], &state.link})
                    *time = std::max(*time, state.compute);
                to.push_back(longer);
            }
        }
    }

    /// Drops dominated ways, and records the others in the trail.
    void keep(std::vector<Way>& ways, Pass pass) {
        const auto key = [](const Way& way) {
            return std::tuple(way.state.compute, way.state.reduced[0], way.state.reduced[1], way.cuts);
        };
        std::ranges::sort(ways, {}, key);
        std::size_t kept = 0;
        for (const Way& way : ways) {
            const bool needless =
                std::any_of(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(kept), [&](const Way& other) {
                    return other.state.reduced[0] <= way.state.reduced[0] &&
                           other.state.reduced[1] <= way.state.reduced[1] && other.state.link <= way.state.link;
                });
            if (!needless) ways[kept++] = way;
        }
        ways.resize(kept);
        for (Way& way : ways) {
            trail_.push_back({way.parent, pass});
            way.parent = static_cast<std::uint32_t>(trail_.size() - 1);
        }
    }

    Plan trace(const Node& last) {
        const Way* best = nullptr;
        for (const auto& ways : last) {
            for (const Way& way : ways) {
                const auto value = [](const Way& one) { return std::pair(endOf(one.state), one.cuts); };
                if (!best || value(way) < value(*best)) best = &way;
            }
        }
        std::vector<Pass> order;
        for (std::uint32_t at = best->parent; at != 0; at = trail_[at].parent)
            order.push_back(trail_[at].pass);
        std::ranges::reverse(order);
        PerPass<std::size_t> next{};
        for (const Pass pass : order) {
            const auto& steps = steps_[passIndex(pass)];
            std::size_t& k = next[passIndex(pass)];
            if (plan_.pieces.empty() || plan_.pieces.back().pass != pass)
                plan_.pieces.push_back({pass, k == 0 ? 0 : steps[k - 1].end, 0});
            plan_.pieces.back().end = steps[k++].end;
        }
        return std::move(plan_);
    }

    Plan plan_;
    StreamRules rules_;
    PerPass<std::vector<Step>> steps_;
    PerPass<std::vector<Left>> left_;
    TimeNs best_{0};
    std::vector<Trail> trail_;
};

} // namespace

Plan searchCuts(Operators backward, Operators forward, const StreamRules& rules) {
    Plan plan{{std::move(backward), std::move(forward)}, {}};
    for (Operators& ops : plan.ops) {
        for (Operator& op : ops)
            op.own_stream = op.all_reduce;
    }
    return Search(std::move(plan), rules).run();
}

} // namespace bubblescope::overlap
