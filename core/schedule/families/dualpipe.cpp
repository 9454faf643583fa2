// DualPipe and DualPipeV: micro-batches enter a pipeline of n ranks from two sides, and a forward of one side
// runs as a pair with a backward of the other.
//
// DualPipeV has one model in V placement, so each rank holds an early chunk and a late one, and n = p.
// DualPipe holds the model twice, once down the ranks and once up (chunk 1); it is folded in the middle: rank s
// and its mirror image p−1−s do the same with the chunks exchanged, n = p/2, and half of the micro-batches
// go each way. Micro-batches are numbered in each direction from 0, as its authors do.
//
// Rank s of n, with m micro-batches for each side ("near" chunk first): 2(n−s−1) near forwards; s+1 forwards
// of both in turn; n−s−1 far backwards cut in I and W, each followed by a far forward; m−2n+s+1 times a near
// forward with a far backward and the reverse, all as pairs; then n−s−1 far backwards and the pairs that are
// left; s+1 backwards of both, from the middle on only their input gradient, the weight gradients being
// kept; n−s−1 near input gradients, each after the oldest weight gradient kept; what is left of those.
//
// The DualPipeV of DeepSeek, PyTorch and Paddle agree op for op; the flavor only says whose it is.
//
// Closed form, with t_fb the time of a pair, seen from the innermost rank s = n−1. Its first forward arrives
// (n−1)·t_f after the start. From there it never waits until its pairs are over: the two sides feed it from both
// ends. Then it has only backwards, of t_b each, while its neighbour still puts a pair between each two of
// its own; so n−1 times, once for every rank outside it, it waits t_fb−t_b for the next gradient. After its
// last op the outer ranks still run n−1 times an input gradient with a kept weight gradient, of which it did
// the latter meanwhile: the end is (n−1)(t_i−t_w) away. The sum is (n−1)(t_fb + t_f − 2·t_w), with t_i = t_f also
// written (n−1)(t_fb + t_b − 3·t_w). Other ranks idle as long or less, since they have fewer pairs and each pair saves
// t_f+t_b−t_fb of work.
//
// Slow input gradients, t_i > t_f, hold up the innermost rank's start instead: each of the n−1 ranks outside it
// passes gradients on t_i−t_f later than it takes forwards, of which the first forward in stock hides one t_f:
// (n−1)(t_fb + t_i − 2·t_w) − t_f. With t_w ≤ min(t_f, t_i) the larger of the two is the bubble.
//
// Its positions. Rank s, with b = n−s−1 ranks further in, starts s·t_f late. Inside the steady part each of those
// ranks makes it wait t_fb−t_b for a far gradient and as long for the answer to its own, but for one, for which
// the first forward of the steady part leaves room, t_f of it in front. With t_f > t_i every further rank's
// answer but one is late by t_f−t_i too, which moves min(t_f−t_i, t_fb−t_b) to the front; with t_f < t_i the ranks
// further in hold it up by b·(t_i−t_f) inside, those further out by s·(t_i−t_f) in front. Between steady part and
// cool-down rank s waits s·(t_fb−t_b), as the innermost rank does; inside cool-down, for each rank further in, for
// an input gradient with only a weight gradient to do, b·(t_i−t_w), and as much behind its last op for each rank
// further out.
//
// With longer weight gradients the innermost rank may lose more elsewhere, and the step is the longest of five: as
// above; with slow weight gradients (n−1)(t_fb − t_w) − t_f; with slow forwards and t_w > t_i
// (n−1)(t_fb + t_f − t_b); and in any case (n−1)·t_f. Where the gaps then lie is not known, and only totals are
// given.

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/two_way_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// Builds the list of one rank. A side is 0 for micro-batches that enter near it, 1 for the others.
class RankOrder {
public:
    RankOrder(int ranks, int rank, int microbatches, bool mirrored)
        : ranks_(ranks), rank_(rank), microbatches_(microbatches), mirrored_(mirrored) {}

    std::vector<Op> build() {
        const int below = ranks_ - rank_ - 1;
        repeat(2 * below, [&] { forward(0); });
        repeat(rank_ + 1, [&] {
            forward(0);
            forward(1);
        });
        repeat(below, [&] {
            backward(1, true);
            weight();
            forward(1);
        });
        steady();
        repeat(below, [&] {
            backward(1, false);
            pair(1, 0);
        });
        drain();
        repeat(below, [&] {
            weight();
            backward(0, true);
        });
        repeat(rank_ + 1, [&] { weight(); });
        return std::move(ops_);
    }

private:
    template <class Action>
    static void repeat(int times, Action action) {
        for (int i = 0; i < times; ++i)
            action();
    }

    void steady() {
        for (int i = 0; i < microbatches_ - 2 * ranks_ + rank_ + 1; ++i) {
            if (i == 0 && rank_ == ranks_ - 1) { // where both sides meet, this backward is that of the last forward
                forward(0);
                backward(1, false);
            } else {
                pair(0, 1);
            }
            pair(1, 0);
        }
    }

    /// Backwards of both sides in turn, the second half of them without their weight gradients.
    void drain() {
        for (int i = 0; i <= rank_; ++i) {
            backward(1, 2 * i > rank_);
            backward(0, 2 * i >= rank_);
        }
    }

    Op& add(OpKind kind, int microbatch, int side) {
        ops_.push_back({kind, Microbatch{microbatch}, Chunk{mirrored_ ? 1 - side : side}});
        return ops_.back();
    }
    Op& forward(int side) { return add(OpKind::Forward, forwards_[static_cast<std::size_t>(side)]++, side); }
    Op& backward(int side, bool split) {
        const int microbatch = backwards_[static_cast<std::size_t>(side)]++;
        if (split) kept_.push_back({microbatch, side});
        return add(split ? OpKind::BackwardInput : OpKind::Backward, microbatch, side);
    }
    void pair(int forward_side, int backward_side) {
        forward(forward_side).overlapped = true;
        backward(backward_side, false).overlapped = true;
    }
    void weight() {
        const auto [microbatch, side] = kept_[done_++];
        add(OpKind::BackwardWeight, microbatch, side);
    }

    struct Kept {
        int microbatch;
        int side;
    };

    int ranks_;
    int rank_;
    int microbatches_;
    bool mirrored_;
    std::vector<Op> ops_;
    std::array<int, 2> forwards_{};
    std::array<int, 2> backwards_{};
    std::vector<Kept> kept_; ///< weight gradients owed, oldest first
    std::size_t done_ = 0;   ///< of those
};

Status checkVpp(const ScheduleSpec& spec) {
    if (spec.vpp <= 2) return {}; // 1 is what a spec without --vpp says
    return usageError(fmt::format("{} has 2 chunks a rank, not {}", spec.name, spec.vpp), "leave --vpp out");
}

Status checkDualPipeV(int p, int m) {
    if (m >= 2 * p) return {};
    return usageError(fmt::format("dualpipev needs m ≥ 2p: {} micro-batches, {} ranks", m, p),
                      fmt::format("give {} or more", 2 * p));
}

Status checkDualPipe(int p, int m) {
    if (p % 2 != 0)
        return usageError(fmt::format("dualpipe needs an even number of ranks, not {}", p), "or use dualpipev");
    if (m % 2 == 0 && m >= 2 * p) return {};
    return usageError(fmt::format("dualpipe needs m even and at least 2p: {} micro-batches, {} ranks", m, p),
                      fmt::format("give {}", std::max(m + m % 2, 2 * p)));
}

Result<Schedule> generateDualPipeV(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(checkVpp(spec));
    BUBBLESCOPE_TRY(checkDualPipeV(spec.pp, spec.microbatches));
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.vpp = 2;
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(RankOrder(spec.pp, s, spec.microbatches, false).build());
    return schedule;
}

Result<Schedule> generateDualPipe(const ScheduleSpec& spec) {
    const int p = spec.pp;
    BUBBLESCOPE_TRY(checkVpp(spec));
    BUBBLESCOPE_TRY(checkDualPipe(p, spec.microbatches));
    Schedule schedule = emptySchedule(spec, Placement::Bidirectional);
    schedule.vpp = 2;
    for (int s = 0; s < p; ++s)
        schedule.ranks.push_back(RankOrder(p / 2, std::min(s, p - 1 - s), spec.microbatches / 2, s >= p / 2).build());
    return schedule;
}

/// One of the two families: n ranks folded out, m micro-batches for each side, and the words for n−1 and 2m.
struct Folded {
    std::int64_t n;
    std::int64_t m;
    std::string_view borders;
    std::string_view ops; ///< what all ops of the innermost rank take
};

/// Where no weight gradient is longer than a forward or an input gradient.
ClosedForm positions(const Schedule& schedule, const CostModel& costs, const Folded& fold) {
    const OpTimes& t = costs.times;
    const TimeNs none{0};
    const TimeNs lost = costs.overlapped.value_or(t.forward + t.backward) - t.backward;
    const TimeNs kept = t.input_grad - t.weight_grad;
    const TimeNs slow_input = t.input_grad - t.forward;
    const TimeNs moved = std::min(-slow_input, lost); // to the front, where forwards are the slower
    const TimeNs held_up = (fold.n - 1) * slow_input;
    const bool mirrored = fold.n != schedule.pp;
    const std::string place = mirrored ? "d" : "s";
    const std::string inner_text = fmt::format("({}−{})", fold.borders, place);
    const std::string note = mirrored ? ", d = min(s, p−s−1)" : "";
    FormBuilder form(schedule, costs,
                     fmt::format("{}, max(t_f, t_b) ≤ t_fb ≤ t_f+t_b (of one chunk); equal stages, transfers free",
                                 slow_input <= none ? "t_w ≤ t_i ≤ t_f" : "t_w ≤ t_f < t_i"));
    for (int rank = 0; rank < schedule.pp; ++rank) {
        const std::int64_t s = mirrored ? std::min(rank, schedule.pp - 1 - rank) : rank;
        const std::int64_t inner = fold.n - s - 1;
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, place + "·t_f" + note, s * t.forward},
                                        {Position::SteadyToCooldown, place + "·(t_fb−t_b)" + note, s * lost},
                                        {Position::InsideCooldown, inner_text + "·(t_i−t_w)" + note, inner * kept},
                                        {Position::AfterCooldown, place + "·(t_i−t_w)" + note, s * kept}};
        const std::string inside = fmt::format("(2·{}−1)·(t_fb−t_b)", inner_text);
        if (inner == 0) {
            terms.push_back({Position::WarmupToSteady, fmt::format("max(0, ({})·(t_i−t_f)−t_f)", fold.borders),
                             fold.n > 1 ? std::max(none, held_up - t.forward) : none});
        } else if (slow_input <= none) {
            terms.push_back({Position::WarmupToSteady,
                             fmt::format("t_f + ({}−1)·min(t_f−t_i, t_fb−t_b){}", inner_text, note),
                             t.forward + (inner - 1) * moved});
            terms.push_back({Position::InsideSteady,
                             fmt::format("{} − ({}−1)·min(t_f−t_i, t_fb−t_b){}", inside, inner_text, note),
                             (2 * inner - 1) * lost - (inner - 1) * moved});
        } else {
            terms.push_back({Position::WarmupToSteady,
                             fmt::format("{}·(t_i−t_f) + max(0, t_f−({})·(t_i−t_f)){}", place, fold.borders, note),
                             s * slow_input + std::max(none, t.forward - held_up)});
            terms.push_back({Position::InsideSteady, fmt::format("{} + {}·(t_i−t_f){}", inside, inner_text, note),
                             (2 * inner - 1) * lost + inner * slow_input});
        }
        form.addRank(rank, std::move(terms));
    }
    return form.finish(
        fmt::format("max(k·(t_fb+t_f−2·t_w), k·(t_fb+t_i−2·t_w)−t_f), k = {}, the largest of all ranks", fold.borders),
        fmt::format("{} + R, R the largest bubble", fold.ops));
}

Result<ClosedForm> dualForm(const Schedule& schedule, const CostModel& costs, const Folded& fold) {
    const OpTimes& t = costs.times;
    const TimeNs both = t.forward + t.backward;
    const TimeNs pair = costs.overlapped.value_or(both);
    if (t.backward != t.input_grad + t.weight_grad || pair < std::max(t.forward, t.backward) || pair > both) {
        return usageError("the form holds for pairs that take at least their longer half and at most both halves",
                          "give such a time, or use `bubblescope simulate`");
    }
    if (t.weight_grad <= std::min(t.forward, t.input_grad)) return positions(schedule, costs, fold);
    const std::int64_t k = fold.n - 1;
    const TimeNs late = k * pair - t.forward;
    const TimeNs bubble =
        k == 0 ? TimeNs{0}
               : std::max({k * (pair + t.forward - 2 * t.weight_grad), late + k * (t.input_grad - 2 * t.weight_grad),
                           late - k * t.weight_grad, k * (pair + t.forward - t.backward), k * t.forward});
    const TimeNs work = 2 * fold.m * both - (2 * fold.m - 2 * fold.n - 1) * (both - pair);
    const std::string largest = fmt::format("max(k·(t_fb+t_f−2·t_w), k·(t_fb+t_i−2·t_w)−t_f, k·(t_fb−t_w)−t_f, "
                                            "k·(t_fb+t_f−t_b), k·t_f)");
    return makespanForm(
        schedule, costs, work + bubble, fmt::format("{}, k = {}, the largest of all ranks", largest, fold.borders),
        fmt::format("{} + R, R the largest bubble", fold.ops),
        "every t_f, t_i and t_w, max(t_f, t_b) ≤ t_fb ≤ t_f+t_b (of one chunk); equal stages, transfers "
        "free");
}

Result<ClosedForm> dualPipeVForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(checkDualPipeV(schedule.pp, schedule.microbatches));
    return dualForm(schedule, costs,
                    {schedule.pp, schedule.microbatches, "p−1", "(2·p+1)·(t_f+t_b) + (2·m−2·p−1)·t_fb"});
}

Result<ClosedForm> dualPipeForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(checkDualPipe(schedule.pp, schedule.microbatches));
    return dualForm(schedule, costs,
                    {schedule.pp / 2, schedule.microbatches / 2, "p/2−1", "(p+1)·(t_f+t_b) + (m−p−1)·t_fb"});
}

PeakForm dualPipeVPeaks(const Schedule& schedule) {
    return peakForm(schedule, "2·p+1", "m ≥ 2p", [p = schedule.pp](int) { return 2 * p + 1; });
}

PeakForm dualPipePeaks(const Schedule& schedule) {
    return peakForm(schedule, "p+1", "m ≥ 2p", [p = schedule.pp](int) { return p + 1; });
}

} // namespace

ScheduleFamily dualPipeVFamily() {
    return {"dualpipev",
            "DualPipeV",
            {},
            {"deepseek", "torch", "paddle"},
            Placement::V,
            "m ≥ 2p, v = 2",
            generateDualPipeV,
            dualPipeVForm,
            dualPipeVPeaks,
            nullptr,
            dualPipeVQuotes};
}

ScheduleFamily dualPipeFamily() {
    return {"dualpipe",
            "DualPipe",
            {},
            {},
            Placement::Bidirectional,
            "p even, m even, m ≥ 2p, v = 2",
            generateDualPipe,
            dualPipeForm,
            dualPipePeaks,
            nullptr,
            dualPipeQuotes};
}

} // namespace bubblescope
