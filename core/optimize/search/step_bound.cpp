#include "core/optimize/search/step_bound.h"

#include "core/base/bytes.h"
#include "core/base/time.h"
#include "core/optimize/search/chain_times.h"
#include "core/optimize/search/one_machine.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string spoken(std::int64_t time) {
    return formatTime(TimeNs{time});
}

class BoundSearch {
public:
    explicit BoundSearch(const OrderProblem& problem)
        : problem_(problem), chains_(chainTimes(problem)), times_(problem.uniform() ? queueTimes(problem) : chains_) {}

    StepBound run() {
        byChain();
        byWork();
        if (problem_.limited()) byHolding();
        return std::move(best_);
    }

private:
    [[nodiscard]] std::int64_t head(OpNumber op) const { return chains_.head[static_cast<std::size_t>(op)]; }
    [[nodiscard]] std::int64_t tail(OpNumber op) const { return chains_.tail[static_cast<std::size_t>(op)]; }
    /// From its end to the step's end.
    [[nodiscard]] std::int64_t after(OpNumber op) const { return tail(op) - problem_.op(op).time; }
    /// From the start of a forward to the end of its input gradient.
    [[nodiscard]] std::int64_t wayBack(OpNumber forward) const {
        const OpNumber gradient = problem_.op(forward).own_next;
        return head(gradient) + problem_.op(gradient).time - head(forward);
    }

    template <class Reason>
    void offer(std::int64_t time, Reason reason) {
        if (time <= best_.time) return;
        best_ = {time, reason()};
    }

    void byChain() {
        std::int64_t longest = 0;
        for (OpNumber op = 0; op < problem_.size(); ++op)
            longest = std::max(longest, head(op) + tail(op));
        offer(longest, [&] { return say("one micro-batch takes {} through all stages and back", spoken(longest)); });
    }

    /// Every rank does one op at a time.
    void byWork() {
        const auto ranks = static_cast<std::size_t>(problem_.sizes().pp);
        std::vector<std::int64_t> all(ranks, 0);
        std::vector<std::int64_t> first(ranks, kMost);
        for (OpNumber number = 0; number < problem_.size(); ++number) {
            const NeededOp& op = problem_.op(number);
            all[op.rank.index()] += op.work;
            first[op.rank.index()] = std::min(first[op.rank.index()], head(number));
        }
        const std::vector<MachineBound> bounds = machineBounds(times_);
        std::size_t most = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
            // Of equal bounds, the one with the most work says the most.
            if (std::tie(bounds[r].time, bounds[r].work) > std::tie(bounds[most].time, bounds[most].work)) most = r;
        }
        const MachineBound& bound = bounds[most];
        if (bound.time < best_.time) return;
        best_.time = bound.time;
        if (bound.work == all[most] && bound.head == first[most]) {
            best_.reason =
                say("rank {} is busy {}, its first input can be there after {}, its last result takes {} more", most,
                    spoken(bound.work), spoken(bound.head), spoken(bound.after));
            return;
        }
        const bool waits =
            problem_.limited() && problem_.uniform() &&
            std::ranges::max(machineBounds(queueTimes(problem_, false)), {}, &MachineBound::time).time < bound.time;
        if (waits) {
            best_.reason =
                say("rank {} has work of {} that cannot begin before {}, since forwards wait for memory, and "
                    "{} must follow it",
                    most, spoken(bound.work), spoken(bound.head), spoken(bound.after));
        } else {
            best_.reason = say("rank {} has work of {} that cannot begin before {}, and {} must follow it", most,
                               spoken(bound.work), spoken(bound.head), spoken(bound.after));
        }
    }

    [[nodiscard]] std::vector<MachineBound> machineBounds(const ChainTimes& times) const {
        std::vector<std::vector<MachineJob>> ranks(static_cast<std::size_t>(problem_.sizes().pp));
        for (OpNumber number = 0; number < problem_.size(); ++number) {
            const NeededOp& op = problem_.op(number);
            const auto at = static_cast<std::size_t>(number);
            ranks[op.rank.index()].push_back({times.head[at], op.work, times.tail[at] - op.busy});
        }
        std::vector<MachineBound> bounds;
        for (auto& jobs : ranks)
            bounds.push_back(machineBound(std::move(jobs)));
        return bounds;
    }

    [[nodiscard]] std::string capacityText(Rank rank) const {
        const std::int64_t capacity = problem_.capacity(rank);
        return problem_.bytes() ? formatBytes(capacity) : std::to_string(capacity);
    }

    /// What is held over time fits into the capacity times the step: memory is a machine that what an activation holds
    /// for how long keeps busy. Activations are held at least until their input gradient has run, which others must
    /// follow, or until the last that frees them has.
    void byHolding() {
        for (const bool until_last : {false, true}) {
            if (until_last && !problem_.sizes().split) continue;
            std::vector<std::vector<MachineJob>> ranks(static_cast<std::size_t>(problem_.sizes().pp));
            for (OpNumber number = 0; number < problem_.size(); ++number) {
                const NeededOp& op = problem_.op(number);
                const std::int64_t capacity = problem_.capacity(op.rank);
                if (op.kind != OpKind::Forward || capacity <= 0) continue;
                const NeededOp& gradient = problem_.op(op.own_next);
                auto held = static_cast<long double>(op.takes) * static_cast<long double>(wayBack(number));
                OpNumber last = op.own_next;
                if (until_last) {
                    last = gradient.own_next;
                    held += static_cast<long double>(op.takes - gradient.frees) *
                            static_cast<long double>(problem_.op(last).time);
                }
                const long double work = held / static_cast<long double>(capacity);
                if (work > static_cast<long double>(kMost / 4 / problem_.size())) return;
                // Rounded down: a bound may be too low, never too high.
                ranks[op.rank.index()].push_back(
                    {times_.head[static_cast<std::size_t>(number)], static_cast<std::int64_t>(work * (1 - 1e-15L)),
                     times_.tail[static_cast<std::size_t>(last)] - problem_.op(last).time});
            }
            for (std::size_t r = 0; r < ranks.size(); ++r) {
                const MachineBound bound = machineBound(std::move(ranks[r]));
                offer(bound.time, [&] {
                    return say("rank {} may hold {}, and what its micro-batches hold on their way to the last stage "
                               "and back fills that for {}; the first can be there after {}, and {} more must follow",
                               r, capacityText(Rank{r}), spoken(bound.work), spoken(bound.head), spoken(bound.after));
                });
            }
        }
    }

    const OrderProblem& problem_;
    ChainTimes chains_; ///< of a micro-batch
    ChainTimes times_;  ///< of all that is known
    StepBound best_;
};

} // namespace

StepBound stepBound(const OrderProblem& problem) {
    return BoundSearch(problem).run();
}

} // namespace bubblescope
