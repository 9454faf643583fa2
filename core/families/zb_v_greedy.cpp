// ZB-V by greedy filling. All ranks are simulated together: a warm-up that fills the V, then rounds in which each rank
// takes one input gradient and one forward. Weight gradients have no fixed place: they wait in a queue per rank and run
// where the rank would otherwise be idle, or where memory is needed.
//
// Unlike a list scheduler, this allows each rank some idle time. A weight gradient longer than the gap before the next
// op delays that op, which pays off only if the gap would make this rank the one with the most idle time, because the
// worst rank determines the length of the step. Ranks that end up with little idle time in one run could have afforded
// more. Therefore another run follows that allows each rank its difference to the worst one, as long as that lowers the
// maximum. All four combinations of filling short gaps before forwards and before input gradients of chunk 1 are tried.

#include "core/families/timed_orders.h"

#include "core/families/slot_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace bubblescope {
namespace {

using Time = std::int64_t;
constexpr Time kNoInput = -1; ///< arrival of an input that the rank does not wait for

struct GreedyFill {
    bool before_forward = true;
    bool before_input_grad_1 = true; ///< a short gap before chunk 0 is always filled if the bubbles require it
};

struct GreedyRun {
    std::vector<Pass> passes;  ///< 6·m per rank, in the order of execution
    std::vector<Time> bubbles; ///< idle time since the first forward, per rank
    Time worst = 0;            ///< the largest of them
};

/// The end times of passes, for the neighbours that wait for them: one row per pass and rank. Keeps only as many
/// micro-batches as neighbours can be apart, so that everything stays in the cache.
class EndTimes {
public:
    explicit EndTimes(std::size_t rows) : times_(rows * window_) {}

    [[nodiscard]] Time at(std::size_t row, int microbatch) const { return times_[place(row, microbatch)]; }

    /// `unread` is the first micro-batch that the neighbour has not read.
    void set(std::size_t row, int microbatch, Time time, int unread) {
        while (unread >= static_cast<int>(window_))
            widen();
        times_[place(row, microbatch)] = time;
    }

private:
    [[nodiscard]] std::size_t place(std::size_t row, int microbatch) const {
        return row * window_ + (static_cast<std::size_t>(microbatch) & (window_ - 1));
    }

    /// Copies every time to both places that it can have in a window twice as wide.
    void widen() {
        std::vector<Time> wide;
        wide.reserve(2 * times_.size());
        for (auto row = times_.begin(); row != times_.end(); row += static_cast<std::ptrdiff_t>(window_)) {
            wide.insert(wide.end(), row, row + static_cast<std::ptrdiff_t>(window_));
            wide.insert(wide.end(), row, row + static_cast<std::ptrdiff_t>(window_));
        }
        times_ = std::move(wide);
        window_ *= 2;
    }

    std::size_t window_ = 8; ///< a power of two
    std::vector<Time> times_;
};

/// Simulates runs, one at a time.
class GreedyPlayer {
public:
    GreedyPlayer(const ScheduleSpec& spec, std::int64_t memory_limit)
        : p_(spec.pp), m_(spec.microbatches), f_(spec.times.forward.count()), i_(spec.times.input_grad.count()),
          w_(spec.times.weight_grad.count()), comm_(spec.comm.count()), sizes_(spec.sizes), limit_(memory_limit),
          ends_(4 * static_cast<std::size_t>(p_)) {}

    /// False if memory did not suffice, or if the run is not better than `before`.
    bool play(GreedyFill fill, const GreedyRun* before, GreedyRun& out) {
        start(fill, before, out);
        fillDown();
        if (going()) fillUp();
        for (int round = 0; going() && round < 2 * m_; ++round) {
            inputGradients();
            forwards();
        }
        if (!going()) return false;
        out.bubbles.clear();
        for (int r = 0; r < p_; ++r) {
            while (rank(r).pending > 0)
                putWeight(rank(r));
            out.bubbles.push_back(rank(r).bubble);
        }
        out.worst = worst_;
        return true;
    }

private:
    struct RankState {
        Time now = 0;
        Time bubble = 0;
        Time allowance = 0; ///< minimum idle time that this rank is allowed
        std::int64_t held = 0;
        std::array<int, 4> done{}; ///< number of passes run, by pass
        int pending = 0;           ///< input gradients that have run but whose weight gradients have not
        Pass* next = nullptr;      ///< place of the next pass in GreedyRun::passes
    };

    void start(GreedyFill fill, const GreedyRun* before, GreedyRun& out) {
        fill_ = fill;
        worst_ = 0;
        fits_ = true;
        give_up_ = before != nullptr ? before->worst : std::numeric_limits<Time>::max();
        const std::size_t stride = 6 * static_cast<std::size_t>(m_);
        out.passes.resize(static_cast<std::size_t>(p_) * stride);
        ranks_.assign(static_cast<std::size_t>(p_), {});
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            RankState& rank = ranks_[r];
            if (before != nullptr) rank.allowance = before->worst - before->bubbles[r];
            rank.next = out.passes.data() + r * stride;
        }
    }

    /// False once the run does not fit into memory or can no longer improve on the previous one, because bubbles only
    /// grow.
    [[nodiscard]] bool going() const { return fits_ && worst_ < give_up_; }

    RankState& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }

    template <Pass pass>
    int& done(int r) {
        return rank(r).done[index(pass)];
    }

    /// The step from a rank to the next one on a pass's path.
    template <Pass pass>
    static constexpr int kStep = travelsDown(pass) ? 1 : -1;

    template <Pass pass>
    [[nodiscard]] bool atStart(int r) const {
        return r == (travelsDown(pass) ? 0 : p_ - 1);
    }
    template <Pass pass>
    [[nodiscard]] bool atEnd(int r) const {
        return r == (travelsDown(pass) ? p_ - 1 : 0);
    }

    /// True if the neighbour has run the input of a rank's next pass, if there is one.
    template <Pass pass>
    bool available(int r) {
        return atStart<pass>(r) || done<pass>(r - kStep<pass>) > done<pass>(r);
    }

    [[nodiscard]] std::size_t row(Pass pass, int r) const {
        return index(pass) * static_cast<std::size_t>(p_) + static_cast<std::size_t>(r);
    }

    /// The arrival time of the input of a rank's next pass from its neighbour, if it waits for one in transit.
    template <Pass pass>
    Time arrival(int r) {
        if (atStart<pass>(r) || !available<pass>(r)) return kNoInput;
        return ends_.at(row(pass, r - kStep<pass>), done<pass>(r)) + comm_;
    }

    template <Pass pass>
    void put(int r) {
        put<pass>(r, arrival<pass>(r));
    }

    template <Pass pass>
    void put(int r, Time arrives) {
        RankState& state = rank(r);
        int& count = state.done[index(pass)];
        const Time start = std::max(state.now, arrives);
        if (pass != Pass::Forward0 || count > 0) state.bubble += start - state.now;
        worst_ = std::max(worst_, state.bubble);
        state.now = start + (isForward(pass) ? f_ : i_);
        const int unread = atEnd<pass>(r) ? 0 : count - done<pass>(r + kStep<pass>);
        ends_.set(row(pass, r), count++, state.now, unread);
        *state.next++ = pass;
        if constexpr (isForward(pass)) {
            state.held += sizes_.forward;
            if (state.held > limit_) fits_ = false;
        } else {
            state.held -= sizes_.input_grad;
            ++state.pending;
        }
    }

    void putWeight(RankState& state) {
        --state.pending;
        state.now += w_;
        state.held -= sizes_.weight_grad;
        *state.next++ = Pass::WeightGrad;
    }

    /// Runs chunk 0's forwards to the last rank and chunk 1's back to the first. While they travel, outer ranks take
    /// more of chunk 0, a whole front of ranks at a time.
    void fillDown() {
        for (int r = 0; r < p_; ++r)
            put<Pass::Forward0>(r);
        for (int r = p_ - 1; r >= 0 && going(); --r) {
            const RankState& state = rank(r);
            const Time back = arrival<Pass::Forward1>(r);
            while (r < p_ - 1 && going() && state.held + sizes_.forward * (2 + 2 * r) <= limit_ &&
                   state.now + f_ <= back && done<Pass::Forward0>(r) < m_) {
                for (int front = 0; front <= r; ++front)
                    put<Pass::Forward0>(front);
            }
            put<Pass::Forward1>(r);
        }
    }

    /// Inner ranks take forwards of either chunk in turn until they have as many as their outer neighbour; they need
    /// them before the first gradients arrive.
    void fillUp() {
        bool chunk1 = false;
        for (int r = 1; r < p_; ++r) {
            const auto behind = [&] {
                const auto& inner = rank(r).done;
                const auto& outer = rank(r - 1).done;
                return inner[0] + inner[1] < outer[0] + outer[1] || (inner[1] <= outer[1] && outer[1] < m_);
            };
            while (going() && behind()) {
                for (int front = p_ - 1; front >= r; --front) {
                    if (chunk1 && done<Pass::Forward1>(front) < m_) put<Pass::Forward1>(front);
                    if (!chunk1 && done<Pass::Forward0>(front) < m_) put<Pass::Forward0>(front);
                }
                chunk1 = !chunk1;
            }
        }
    }

    /// Runs a rank's next pass, after weight gradients in the gap before it: all that fit, and with `short_too` one
    /// that does not, if the gap would make this rank the worst.
    template <Pass pass>
    void putAfterGap(int r, bool short_too) {
        RankState& state = rank(r);
        const Time arrives = arrival<pass>(r);
        while (arrives >= state.now + w_ && state.pending > 0)
            putWeight(state);
        const Time may_idle = std::max(worst_, state.allowance) - state.bubble;
        if (short_too && arrives - state.now > may_idle && state.pending > 0) putWeight(state);
        put<pass>(r, arrives);
    }

    [[nodiscard]] bool takesChunk0Gradient(int r) {
        const auto& count = rank(r).done;
        if (count[index(Pass::InputGrad1)] <= count[index(Pass::InputGrad0)]) return false;
        return count[index(Pass::InputGrad1)] >= m_ || available<Pass::InputGrad0>(r);
    }

    void inputGradients() {
        towards_first_.clear();
        towards_last_.clear();
        for (int r = 0; r < p_; ++r)
            (takesChunk0Gradient(r) ? towards_first_ : towards_last_).push_back(r);
        for (auto it = towards_first_.rbegin(); it != towards_first_.rend(); ++it)
            putAfterGap<Pass::InputGrad0>(*it, true);
        for (const int r : towards_last_)
            putAfterGap<Pass::InputGrad1>(r, fill_.before_input_grad_1);
    }

    template <Pass pass>
    void forward(int r) {
        RankState& state = rank(r);
        while (state.held + sizes_.forward > limit_ && state.pending > 0)
            putWeight(state);
        putAfterGap<pass>(r, fill_.before_forward);
    }

    /// Runs one forward per rank, of chunk 1 if possible. A rank whose chunk 1 has caught up always runs chunk 0; other
    /// ranks run only inputs in transit.
    void forwards() {
        for (int r = 0; r < p_; ++r) {
            const int first = done<Pass::Forward0>(r);
            const int second = done<Pass::Forward1>(r);
            if (second >= m_) continue;
            if (second < first && available<Pass::Forward1>(r)) {
                forward<Pass::Forward1>(r);
            } else if (second >= first || (first < m_ && available<Pass::Forward0>(r))) {
                forward<Pass::Forward0>(r);
            }
        }
    }

    int p_;
    int m_;
    Time f_;
    Time i_;
    Time w_;
    Time comm_;
    ActivationSizes sizes_;
    std::int64_t limit_;
    GreedyFill fill_;
    std::vector<RankState> ranks_;
    EndTimes ends_;
    std::vector<int> towards_first_;
    std::vector<int> towards_last_;
    Time worst_ = 0;   ///< largest bubble of all ranks
    Time give_up_ = 0; ///< a run whose largest bubble reaches this value is not useful
    bool fits_ = true;
};

/// Each weight gradient belongs to the oldest input gradient without a weight gradient.
std::vector<Op> greedyOps(const Pass* passes, int microbatches) {
    const Pass* const end = passes + 6 * static_cast<std::size_t>(microbatches);
    const Pass* input_grad = passes;
    std::vector<Op> ops;
    ops.reserve(static_cast<std::size_t>(end - passes));
    std::array<int, 4> done{};
    std::array<int, 2> weights{};
    for (const Pass* pass = passes; pass != end; ++pass) {
        if (*pass == Pass::WeightGrad) {
            while (!isInputGrad(*input_grad))
                ++input_grad;
            const int chunk = chunkOf(*input_grad++);
            ops.push_back(
                {OpKind::BackwardWeight, Microbatch{weights[static_cast<std::size_t>(chunk)]++}, Chunk{chunk}});
        } else {
            const OpKind kind = isForward(*pass) ? OpKind::Forward : OpKind::BackwardInput;
            ops.push_back({kind, Microbatch{done[index(*pass)]++}, Chunk{chunkOf(*pass)}});
        }
    }
    return ops;
}

/// The best run of all combinations.
std::optional<GreedyRun> bestRun(const ScheduleSpec& spec, std::int64_t memory_limit) {
    GreedyPlayer greedy(spec, memory_limit);
    std::optional<GreedyRun> best;
    GreedyRun run;
    GreedyRun next;
    for (const bool before_input_grad : {true, false}) {
        for (const bool before_forward : {true, false}) {
            const GreedyFill fill{before_forward, before_input_grad};
            if (!greedy.play(fill, nullptr, run)) continue;
            while (run.worst > 0 && greedy.play(fill, &run, next))
                std::swap(run, next);
            if (!best) {
                best.emplace(run);
            } else if (run.worst < best->worst) {
                std::swap(*best, run);
            }
            if (best->worst == 0) return best; // cannot be improved
        }
    }
    return best;
}

} // namespace

std::optional<std::vector<std::vector<Op>>> zbVGreedyOrder(const ScheduleSpec& spec, std::int64_t memory_limit) {
    const auto best = bestRun(spec, memory_limit);
    if (!best) return std::nullopt;
    std::vector<std::vector<Op>> ranks;
    const std::size_t stride = 6 * static_cast<std::size_t>(spec.microbatches);
    for (std::size_t r = 0; r < static_cast<std::size_t>(spec.pp); ++r)
        ranks.push_back(greedyOps(best->passes.data() + r * stride, spec.microbatches));
    return ranks;
}

} // namespace bubblescope
