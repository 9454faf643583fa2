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
// 2·m·v ops, p−1 ticks before the first of them and as many after the last.
//
// With t_f ≠ t_b the meeting points shift against each other. In a round of p micro-batches, m ≤ p, the longer
// kind sets the pace wherever the two meet: all ops take max(t_f, t_b) but one of each kind and chunk that
// somebody must run alone, v·p·(t_f+t_b) for the way of one micro-batch, and each further one adds 2·max(t_f, t_b).
// With g = m/p rounds and t_f ≥ t_b every round loses (p−1)(t_f−t_b) more. With t_f < t_b and more than one round
// the greedy order, which was made for equal ops, sends forwards ahead or not depending on v, p and both times: no
// form is known, and the bound that holds for any order is given.
//
// With transfers that take c ≤ t, t = t_f = t_b, and m = g·p: a round's way leads over v(p−1) borders and back, and the
// next round follows it over all but one each way; 2(p−1)·c for the way of the first to the last rank and back come
// on top. Longer transfers would let ranks fall behind that have an op to spare.
//
// Positions, m = g·p and t_f ≥ t_b, d = t_f−t_b: s·t_f and s·t_b at the outside. Rank s waits (p−s−1)·t_f until the
// wave comes back to it for the first time, which is inside its warm-up in the first round when there is only
// one (directly before the first backward where v = 2 lets it turn around at once) and inside the steady part
// otherwise, and (p−s−1)·t_b in cool-down. The rounds' (p−1)·d lie before the steady part on the p−s−1 ranks' side
// and behind it on the other, all further rounds' inside.

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/two_way_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

constexpr std::string_view kGeneral = "; equal stages, transfers free";

/// Whole rounds of p micro-batches, t_f ≥ t_b; a lone rank never waits.
ClosedForm positions(const Schedule& schedule, const CostModel& costs) {
    const TimeNs forward = costs.times.forward;
    const TimeNs backward = costs.times.backward;
    const TimeNs apart = forward - backward;
    const std::int64_t p = schedule.pp;
    const std::int64_t rounds = schedule.microbatches / p;
    FormBuilder form(schedule, costs, fmt::format("m divisible by p, v even, t_f ≥ t_b (of one chunk){}", kGeneral));
    for (int s = 0; s < schedule.pp; ++s) {
        const std::int64_t below = p - s - 1;
        const bool turns = s == 0 && schedule.vpp == 2;
        // In a single round of v = 2 a rank's last warm-up forward but those of the turn is its first steady one.
        const std::int64_t at_turn = rounds > 1 || schedule.vpp > 2 ? 0
                                     : turns                        ? below
                                                                    : std::min<std::int64_t>(1, below);
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, "s·t_f", s * forward},
                                        {Position::WarmupToSteady,
                                         at_turn == 0 ? "(p−s−1)·(t_f−t_b)"
                                         : turns      ? "(p−1)·(2·t_f−t_b)"
                                                      : "(p−s−1)·(t_f−t_b) + min(1, p−s−1)·t_f",
                                         below * apart + at_turn * forward},
                                        {Position::AfterCooldown, "s·t_b", s * backward}};
        if (rounds > 1) {
            terms.push_back({Position::InsideSteady, "(m/p−1)·(p−1)·(t_f−t_b) + (p−s−1)·t_f",
                             (rounds - 1) * (p - 1) * apart + below * forward});
        } else {
            terms.push_back({Position::InsideWarmup,
                             schedule.vpp > 2 ? "(p−s−1)·t_f"
                             : turns          ? "0"
                                              : "max(0, p−s−2)·t_f",
                             (below - at_turn) * forward});
        }
        if (turns) {
            terms.push_back({Position::SteadyToCooldown, "(p−1)·t_b", below * backward});
        } else {
            terms.push_back({Position::SteadyToCooldown, "s·(t_f−t_b)", s * apart});
            terms.push_back({Position::InsideCooldown, "(p−s−1)·t_b", below * backward});
        }
        form.addRank(s, std::move(terms));
    }
    return form.finish("(p−1)·(t_f+t_b + m/p·(t_f−t_b))", "m·v·(t_f+t_b) + (p−1)·(t_f+t_b + m/p·(t_f−t_b))");
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    const TimeNs forward = costs.times.forward;
    const TimeNs backward = costs.times.backward;
    const TimeNs both = forward + backward;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    const std::int64_t v = schedule.vpp;
    if (m % p == 0 && (forward >= backward || p == 1)) return positions(schedule, costs);
    if (m <= p) {
        const TimeNs longer = std::max(forward, backward);
        const TimeNs shorter = std::min(forward, backward);
        const TimeNs bubble = 2 * (p - 1) * longer + (p - m) * ((v - 2) * longer + v * shorter);
        const std::string text = "2·(p−1)·L + (p−m)·((v−2)·L + v·S), L = max(t_f, t_b), S = min(t_f, t_b)";
        return makespanForm(schedule, costs, m * v * both + bubble, text, "m·v·(t_f+t_b) + " + text,
                            fmt::format("m ≤ p, v even, every t_f and t_b (of one chunk){}", kGeneral));
    }
    if (forward == backward) {
        const TimeNs makespan = (v * p * ((m + p - 1) / p) + (m - 1) % p) * both;
        return makespanForm(schedule, costs, makespan, "(v·(p·⌈m/p⌉−m) + (m−1) mod p)·(t_f+t_b)",
                            "(v·p·⌈m/p⌉ + (m−1) mod p)·(t_f+t_b)",
                            fmt::format("every m, v even, t_f = t_b (of one chunk){}", kGeneral));
    }
    return usageError("hanayo's form holds for t_f = t_b, for m ≤ p, and for t_f > t_b where p divides m",
                      "give such times, or use `bubblescope simulate`");
}

Result<ClosedForm> generalForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const TimeNs t = costs.times.forward;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    const std::int64_t v = schedule.vpp;
    if (t != costs.times.backward || costs.comm > t || m % p != 0) {
        return usageError("with slow transfers hanayo's form holds for t_f = t_b, c ≤ t_f and m divisible by p",
                          "use `bubblescope simulate`");
    }
    const TimeNs c = p > 1 ? costs.comm : TimeNs{0};
    const TimeNs bubble = 2 * (p - 1) * (t + c) + 2 * (m / p) * (v * (p - 1) - 1) * c;
    const std::string text = "(p−1)·(t_f+t_b+2·c) + 2·m/p·(v·(p−1)−1)·c";
    return makespanForm(schedule, costs, 2 * m * v * t + bubble, text, "m·v·(t_f+t_b) + " + text,
                        "m divisible by p, p ≥ 2, v even, t_f = t_b (of one chunk), c ≤ t_f; equal stages");
}

PeakForm peaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const int v = schedule.vpp;
    const int round = std::min(m, p);
    return peakForm(schedule, "min(v·n, (v−1)·n + max(1, m−p+1) + s), n = min(m, p)", "every m, v even",
                    [=](int s) { return std::min(v * round, (v - 1) * round + std::max(1, m - p + 1) + s); });
}

} // namespace

ScheduleFamily hanayoFamily() {
    return {"hanayo", "Hanayo (waves)", {},    {},          Placement::V, "m ≥ 1, v even (two for each wave)",
            generate, familyForm,       peaks, generalForm, hanayoQuotes};
}

} // namespace bubblescope
