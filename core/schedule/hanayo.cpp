// Hanayo's waves: V placement with v = 2W chunks a rank, so that a micro-batch runs down and up the ranks W times
// and its gradient as often back. The order is the greedy one on a clock that ticks once an op: a rank that is
// free takes a backward if one is ready, else a forward, in both the oldest micro-batch first. No program of
// the paper's authors is public to compare it with.
//
// Closed form, for t_f = t_b = t. On its way through 2·v·p ticks a micro-batch that enters in tick e meets rank
// s in the ticks e+s and e+2p−1−s modulo 2p. Micro-batches that enter two ticks apart therefore never want
// a rank at the same time, p of them fill every tick of every rank, and the next p can enter where they
// leave. The last of m enters in tick 2·v·p·(⌈m/p⌉−1) + 2·((m−1) mod p) and leaves 2·v·p ticks later. Greedy
// enters micro-batches earlier and ends no sooner: with m divisible by p it cannot, as the last rank has
// 2·m·v ops, p−1 ticks before the first of them and as many after the last. With t_f ≠ t_b the meeting points
// shift against each other and no form is known.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <queue>

namespace bubblescope {
namespace {

/// An op on its micro-batch's way: forwards are steps 0 to S−1, backwards S to 2S−1, for S stages.
struct Step {
    bool forward;
    int microbatch;
    int step;
    /// What comes first is taken first.
    friend auto operator<=>(const Step&, const Step&) = default;
};

class Greedy {
public:
    explicit Greedy(const Schedule& schedule)
        : pp_(schedule.pp), stages_(schedule.stages()), ready_(static_cast<std::size_t>(pp_)) {
        for (int m = 0; m < schedule.microbatches; ++m)
            ready_.front().push({true, m, 0});
        left_ = std::int64_t{schedule.microbatches} * stages_ * 2;
    }

    std::vector<std::vector<Op>> run() {
        std::vector<std::vector<Op>> ranks(ready_.size());
        std::vector<Step> done;
        while (left_ > 0) {
            done.clear();
            for (std::size_t r = 0; r < ready_.size(); ++r) {
                if (ready_[r].empty()) continue;
                done.push_back(ready_[r].top());
                ready_[r].pop();
                ranks[r].push_back(opOf(done.back()));
            }
            for (const Step& step : done)
                handOn(step);
            left_ -= static_cast<std::int64_t>(done.size());
        }
        return ranks;
    }

private:
    using Ready = std::priority_queue<Step, std::vector<Step>, std::greater<>>;

    [[nodiscard]] Location at(const Step& step) const {
        const int stage = step.forward ? step.step : 2 * stages_ - 1 - step.step;
        return locate(Placement::V, pp_, Stage{stage});
    }

    [[nodiscard]] Op opOf(const Step& step) const {
        return {step.forward ? OpKind::Forward : OpKind::Backward, Microbatch{step.microbatch}, at(step).chunk};
    }

    void handOn(const Step& step) {
        const int next = step.step + 1;
        if (next == 2 * stages_) return;
        const Step following{next < stages_, step.microbatch, next};
        ready_[at(following).rank.index()].push(following);
    }

    int pp_;
    int stages_;
    std::int64_t left_ = 0;
    std::vector<Ready> ready_; ///< per rank
};

Result<Schedule> generate(const ScheduleSpec& spec) {
    if (spec.vpp % 2 != 0) {
        return usageError(fmt::format("hanayo has two chunks a rank for each wave, not {} in all", spec.vpp),
                          "give --vpp 2 for one wave, 4 for two, …");
    }
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.ranks = Greedy(schedule).run();
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    if (t.forward != t.backward) {
        return usageError("hanayo's form holds for t_f = t_b", "give such times, or use `bubblescope simulate`");
    }
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    const std::int64_t groups = (m + p - 1) / p;
    const TimeNs makespan = (schedule.vpp * p * groups + (m - 1) % p) * (t.forward + t.backward);
    return makespanForm(schedule, costs, makespan, "(v·(p·⌈m/p⌉−m) + (m−1) mod p)·(t_f+t_b)",
                        "(v·p·⌈m/p⌉ + (m−1) mod p)·(t_f+t_b)",
                        "every m, v even, t_f = t_b (of one chunk); (p−1)·(t_f+t_b) where p divides m; equal "
                        "stages, transfers free");
}

} // namespace

ScheduleFamily hanayoFamily() {
    return {"hanayo", "Hanayo (waves)", {}, {}, Placement::V, "m ≥ 1, v even (two for each wave)",
            generate, familyForm};
}

} // namespace bubblescope
