// Zero-bubble order for given times and a given memory, one chunk per rank (the heuristic of Qi et al., 2023). The
// memory limit decides where the order lies between ZB-H1 (p activations, "ZB-1p") and ZB-H2 (2p, "ZB-2p").
//
// All ranks are simulated together. Warm-up: as many forwards as memory holds and as fit before the first gradient
// arrives. Then, round by round, each rank takes one forward, if any is left, and one input gradient. Weight gradients
// wait in a queue and are placed where the rank would otherwise be idle: into a gap that is long enough; where memory
// is short; or into a shorter gap, which delays the following ops, if the gap would make the rank's idle time the
// largest of all. Rank 0 sends no gradients, so once its forwards are done no rank waits for it and its weight
// gradients run at once.
//
// For three choices, no option is best for all times: whether the last warm-up forward may delay the first gradient,
// whether a rank that is two forwards ahead of its neighbour may skip one to take the gradient first, and whether short
// gaps are always filled. All eight combinations are tried; the first one whose longest span (a rank's first start to
// its last end) is shortest is kept.

#include "core/families/timed_orders.h"

#include "core/families/families.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

using Time = std::int64_t;

struct FillChoice {
    bool overrun_first_gradient = false; ///< the last warm-up forward may end after the first gradient's arrival
    bool gradient_before_forward = false;
    bool leave_short_gaps = false;
};

struct AutoTrial {
    std::vector<std::vector<Op>> ranks;
    Time longest_span = 0;
};

class AutoRun {
public:
    AutoRun(const ScheduleSpec& spec, std::int64_t memory_limit, FillChoice choice)
        : p_(spec.pp), m_(spec.microbatches), f_(spec.times.forward.count()), i_(spec.times.input_grad.count()),
          w_(spec.times.weight_grad.count()), comm_(spec.comm.count()), sizes_(spec.sizes), limit_(memory_limit),
          choice_(choice), ranks_(static_cast<std::size_t>(p_)) {
        for (RankState& state : ranks_) {
            state.ops.reserve(3 * static_cast<std::size_t>(m_));
            state.forward_ends.reserve(static_cast<std::size_t>(m_));
            state.gradient_ends.reserve(static_cast<std::size_t>(m_));
        }
    }

    AutoTrial play() {
        warmUp();
        for (int round = 1; round < m_; ++round) {
            forwards();
            for (int r = p_ - 1; r >= 0; --r)
                gradient(r);
        }
        AutoTrial trial;
        for (RankState& state : ranks_) {
            while (state.hasWeights())
                putWeight(state);
            trial.longest_span = std::max(trial.longest_span, state.now - state.first);
            trial.ranks.push_back(std::move(state.ops));
        }
        return trial;
    }

private:
    struct RankState {
        std::vector<Op> ops;
        std::vector<Time> forward_ends;
        std::vector<Time> gradient_ends;
        int weights = 0;
        std::int64_t held = 0; ///< memory held, in the unit of the sizes
        Time first = 0;
        Time now = 0;
        Time bubble = 0; ///< idle time since the first forward

        [[nodiscard]] int forwards() const { return static_cast<int>(forward_ends.size()); }
        [[nodiscard]] int gradients() const { return static_cast<int>(gradient_ends.size()); }
        [[nodiscard]] bool hasWeights() const { return weights < gradients(); }
    };

    RankState& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }

    /// The time when the input of a rank's next forward or gradient arrives; nothing if it needs no input from another
    /// rank.
    std::optional<Time> arrival(bool forward, int r) {
        const int from = forward ? r - 1 : r + 1;
        if (from < 0 || from >= p_) return std::nullopt;
        const RankState& state = rank(r);
        return forward ? rank(from).forward_ends[state.forward_ends.size()] + comm_
                       : rank(from).gradient_ends[state.gradient_ends.size()] + comm_;
    }

    void put(bool forward, int r) {
        RankState& state = rank(r);
        const Time start = std::max(state.now, arrival(forward, r).value_or(state.now));
        if (state.forward_ends.empty()) {
            state.first = start;
        } else {
            state.bubble += start - state.now;
            worst_ = std::max(worst_, state.bubble);
        }
        auto& ends = forward ? state.forward_ends : state.gradient_ends;
        state.ops.push_back({forward ? OpKind::Forward : OpKind::BackwardInput, Microbatch{ends.size()}, Chunk{0}});
        state.now = start + (forward ? f_ : i_);
        state.held += forward ? sizes_.forward : -sizes_.input_grad;
        ends.push_back(state.now);
    }

    void putWeight(RankState& state) {
        state.ops.push_back({OpKind::BackwardWeight, Microbatch{state.weights++}, Chunk{0}});
        state.now += w_;
        state.held -= sizes_.weight_grad;
    }

    /// The number of warm-up forwards of each rank after its first: as many as memory and time allow, and fewer than on
    /// the previous rank, which sends them.
    std::vector<int> warmupForwards() {
        std::vector<int> more(static_cast<std::size_t>(p_), 0);
        Time gradient = rank(p_ - 1).now + i_; // end of the first gradient on the next rank
        for (int r = p_ - 2; r >= 0; --r) {
            const RankState& state = rank(r);
            int& count = more[static_cast<std::size_t>(r)];
            Time now = state.now;
            const Time arrives = gradient + comm_;
            while (state.forwards() + count < m_ && state.held + sizes_.forward * (count + 1) <= limit_ &&
                   (choice_.overrun_first_gradient ? now < arrives : now + f_ <= arrives)) {
                now += f_;
                ++count;
            }
            gradient = std::max(now, arrives) + i_;
        }
        for (std::size_t r = 1; r < more.size(); ++r) {
            if (more[r] >= more[r - 1] && more[r] + 1 < m_) more[r] = std::max(0, more[r - 1] - 1);
        }
        return more;
    }

    void warmUp() {
        for (int r = 0; r < p_; ++r)
            put(true, r);
        const std::vector<int> more = warmupForwards();
        for (int r = 0; r < p_; ++r) {
            for (int k = 0; k < more[static_cast<std::size_t>(r)]; ++k)
                put(true, r);
        }
        for (int r = p_ - 1; r >= 0; --r)
            put(false, r);
    }

    /// True if a rank postpones its forward by a round: it is ahead, the next gradient is near, and the forward, with
    /// the weight gradients that must free memory for it, would delay that gradient.
    bool skipsForward(int r) {
        const RankState& state = rank(r);
        if (!choice_.gradient_before_forward || r + 1 >= p_) return false;
        const RankState& behind = rank(r + 1);
        if (state.forwards() < behind.forwards() + 2) return false;
        const Time gradient = behind.now + f_ + i_ + comm_;
        if (state.now >= gradient) return true;
        const std::int64_t short_of = std::max<std::int64_t>(0, state.held + sizes_.forward - limit_);
        const std::int64_t needed = (short_of + sizes_.weight_grad - 1) / sizes_.weight_grad;
        const auto make_room = std::min<std::int64_t>(needed, state.gradients() - state.weights);
        if (state.now + make_room * w_ + f_ <= gradient) return false;
        return gradient - state.now <= worst_ - state.bubble;
    }

    void forwards() {
        takes_.assign(static_cast<std::size_t>(p_), 0);
        for (int r = 0; r < p_; ++r) {
            if (rank(r).forwards() < m_ && !skipsForward(r)) takes_[static_cast<std::size_t>(r)] = 1;
        }
        for (std::size_t r = takes_.size() - 1; r > 0; --r) // if a rank skips, earlier ranks skip too
            takes_[r - 1] = std::min(takes_[r - 1], takes_[r]);
        for (int r = 0; r < p_; ++r) {
            if (takes_[static_cast<std::size_t>(r)] == 0) continue;
            while (rank(r).held + sizes_.forward > limit_ && rank(r).hasWeights())
                putWeight(rank(r));
            fillGap(true, r);
            put(true, r);
        }
    }

    void gradient(int r) {
        fillGap(false, r);
        RankState& state = rank(r);
        while (r == 0 && state.forwards() >= m_ && state.hasWeights())
            putWeight(state);
        put(false, r);
    }

    /// Puts weight gradients into the gap before a rank's next forward or input gradient.
    void fillGap(bool forward, int r) {
        const auto ready = arrival(forward, r);
        if (!ready) return;
        RankState& state = rank(r);
        while (state.hasWeights() && state.now + w_ <= *ready)
            putWeight(state);
        const Time gap = *ready - state.now;
        if (gap <= 0 || !state.hasWeights()) return;
        if (!choice_.leave_short_gaps || gap > worst_ - state.bubble) putWeight(state);
    }

    int p_;
    int m_;
    Time f_;
    Time i_;
    Time w_;
    Time comm_;
    ActivationSizes sizes_;
    std::int64_t limit_; ///< maximum per rank, in the unit of the sizes
    FillChoice choice_;
    std::vector<RankState> ranks_;
    std::vector<int> takes_; ///< 1 for ranks that take a forward in this round
    Time worst_ = 0;         ///< largest bubble of all ranks; bubbles only grow
};

Result<Schedule> generateZbAuto(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "zb-v"));
    const std::int64_t limit = spec.memory_limit > 0 ? spec.memory_limit : 2 * std::int64_t{spec.pp};
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    schedule.ranks = zbAutoOrder(spec, limit * spec.sizes.forward);
    return schedule;
}

} // namespace

std::vector<std::vector<Op>> zbAutoOrder(const ScheduleSpec& spec, std::int64_t memory_limit) {
    std::optional<AutoTrial> best;
    for (const bool overrun : {false, true}) {
        for (const bool gradient_first : {true, false}) {
            for (const bool leave : {false, true}) {
                AutoTrial trial = AutoRun(spec, memory_limit, {overrun, gradient_first, leave}).play();
                if (!best || trial.longest_span < best->longest_span) best = std::move(trial);
            }
        }
    }
    return std::move(best->ranks);
}

ScheduleFamily zbAutoFamily() {
    return {.name = "zb-auto",
            .title = "Zero bubble within a memory limit (ZB-1p, ZB-2p)",
            .flavors = {"heuristic"},
            .placement = Placement::Loop,
            .limits = "m ≥ 1, v = 1; memory limit 1 or more (default 2p)",
            .uses = {{SpecPart::MemoryLimit}, {SpecPart::ActivationSizes}},
            .generate = generateZbAuto};
}

} // namespace bubblescope
