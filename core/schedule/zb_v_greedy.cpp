// ZB-V by greedy filling. All ranks are played through together: a warm-up that fills the V, then rounds in
// which each rank takes one input gradient and one forward. Weight gradients have no place of their own:
// they wait in a queue per rank and go where the rank would otherwise stand idle, or where memory is needed.
//
// What makes it more than a list scheduler is the idle time a rank is allowed. A weight gradient that is
// longer than the gap before the next op delays that op; it is worth it only where the gap would make this
// rank the one with the most idle time, because the step is as long as the worst rank makes it. And since
// ranks that end up with little idle time in one run could have afforded more, a run is followed by another
// that allows each rank what it lacked to the worst one, as long as that lowers the maximum. Whether short
// gaps are filled before forwards, and before input gradients of chunk 1, is tried in all four ways.

#include "core/schedule/zb_v_greedy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace bubblescope {
namespace {

using Time = std::int64_t;
constexpr Time kUnset = -1;

struct Fill {
    bool before_forward = true;
    bool before_input_grad_1 = true; ///< before chunk 0's a short gap is always filled when the bubbles say so
};

struct Run {
    std::vector<std::vector<Op>> ranks;
    std::vector<Time> bubbles; ///< idle time since the first forward, per rank
    Time worst = 0;
};

class GreedyRun {
public:
    /// `before`: the run that this one is to improve on, nullptr for the first.
    GreedyRun(const ZbVGreedyInput& in, Fill fill, const Run* before)
        : p_(in.pp), m_(in.microbatches), f_(in.forward.count()), i_(in.input_grad.count()), w_(in.weight_grad.count()),
          comm_(in.comm.count()), sizes_(in.sizes), limit_(in.memory_limit), fill_(fill),
          ranks_(static_cast<std::size_t>(in.pp)),
          ends_(4 * static_cast<std::size_t>(in.pp) * static_cast<std::size_t>(in.microbatches), kUnset) {
        for (RankState& rank : ranks_)
            rank.ops.reserve(6 * static_cast<std::size_t>(m_));
        if (before == nullptr) return;
        give_up_ = before->worst;
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            ranks_[r].allowance = before->worst - before->bubbles[r];
    }

    /// Nothing when memory did not suffice or the run before was no worse.
    std::optional<Run> play() {
        fillDown();
        if (going_) fillUp();
        for (int round = 0; going_ && round < 2 * m_; ++round) {
            inputGradients();
            forwards();
        }
        if (!going_) return std::nullopt;
        Run run;
        for (int r = 0; r < p_; ++r) {
            while (hasWeights(r))
                putWeight(r);
            run.bubbles.push_back(rank(r).bubble);
            run.ranks.push_back(std::move(rank(r).ops));
        }
        run.worst = worst_;
        return run;
    }

private:
    struct RankState {
        std::vector<Op> ops;
        std::array<int, 2> forwards{};    ///< done, by chunk
        std::array<int, 2> input_grads{}; ///< done, by chunk
        std::array<int, 2> weight_grads{};
        std::vector<std::uint8_t> input_grad_chunks; ///< in the order done; their weight gradients follow in it
        std::size_t next_weight = 0;
        Time now = 0;
        Time bubble = 0;
        Time allowance = 0; ///< idle time this rank may have at least
        std::int64_t held = 0;
    };

    RankState& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }

    /// End of a forward or input gradient, kUnset before it is placed.
    Time& end(bool forward, int chunk, int r, int microbatch) {
        const int row = (forward ? 0 : 2) + chunk;
        return ends_[(static_cast<std::size_t>(row) * static_cast<std::size_t>(p_) + static_cast<std::size_t>(r)) *
                         static_cast<std::size_t>(m_) +
                     static_cast<std::size_t>(microbatch)];
    }

    /// The rank that the next op's input comes from, or none at the V's tips. Forwards of chunk 0 and input
    /// gradients of chunk 1 travel towards the last rank, the others towards the first.
    [[nodiscard]] std::optional<int> source(bool forward, int chunk, int r) const {
        const int from = forward == (chunk == 0) ? r - 1 : r + 1;
        return from >= 0 && from < p_ ? std::optional(from) : std::nullopt;
    }

    /// When the input of a rank's next forward or input gradient arrives.
    std::optional<Time> arrival(bool forward, int chunk, int r) {
        const auto from = source(forward, chunk, r);
        if (!from) return std::nullopt;
        return end(forward, chunk, *from, done(forward, chunk, r)) + comm_;
    }

    int& done(bool forward, int chunk, int r) {
        auto& counts = forward ? rank(r).forwards : rank(r).input_grads;
        return counts[static_cast<std::size_t>(chunk)];
    }

    void put(bool forward, int chunk, int r) {
        RankState& state = rank(r);
        if (forward && state.held + sizes_.forward > limit_) going_ = false;
        if (!going_) return;
        int& count = done(forward, chunk, r);
        const Time start = std::max(state.now, arrival(forward, chunk, r).value_or(state.now));
        if (state.forwards[0] > 0) state.bubble += start - state.now;
        worst_ = std::max(worst_, state.bubble);
        if (worst_ >= give_up_) going_ = false;
        state.now = start + (forward ? f_ : i_);
        end(forward, chunk, r, count) = state.now;
        state.held += forward ? sizes_.forward : -sizes_.input_grad;
        state.ops.push_back({forward ? OpKind::Forward : OpKind::BackwardInput, Microbatch{count}, Chunk{chunk}});
        if (!forward) state.input_grad_chunks.push_back(static_cast<std::uint8_t>(chunk));
        ++count;
    }

    bool hasWeights(int r) { return rank(r).next_weight < rank(r).input_grad_chunks.size(); }

    void putWeight(int r) {
        RankState& state = rank(r);
        const std::uint8_t chunk = state.input_grad_chunks[state.next_weight++];
        state.now += w_;
        state.held -= sizes_.weight_grad;
        state.ops.push_back({OpKind::BackwardWeight, Microbatch{state.weight_grads[chunk]++}, Chunk{int{chunk}}});
    }

    /// Chunk 0's forwards to the last rank and chunk 1's back to the first; while they travel, outer ranks
    /// take more of chunk 0, a whole front of ranks at a time.
    void fillDown() {
        for (int r = 0; r < p_; ++r)
            put(true, 0, r);
        for (int r = p_ - 1; r >= 0 && going_; --r) {
            const Time back = arrival(true, 1, r).value_or(0);
            while (r < p_ - 1 && going_ && rank(r).held + sizes_.forward * (2 + 2 * r) <= limit_ &&
                   rank(r).now + f_ <= back && rank(r).forwards[0] < m_) {
                for (int front = 0; front <= r; ++front)
                    put(true, 0, front);
            }
            put(true, 1, r);
        }
    }

    /// Inner ranks take forwards of either chunk in turn until they have as many as their outer neighbour,
    /// which they will need before the first gradients come.
    void fillUp() {
        int chunk = 0;
        for (int r = 1; r < p_; ++r) {
            const auto behind = [&] {
                const auto& inner = rank(r).forwards;
                const auto& outer = rank(r - 1).forwards;
                return inner[0] + inner[1] < outer[0] + outer[1] || (inner[1] <= outer[1] && outer[1] < m_);
            };
            while (going_ && behind()) {
                for (int front = p_ - 1; front >= r; --front) {
                    if (done(true, chunk, front) < m_) put(true, chunk, front);
                }
                chunk = 1 - chunk;
            }
        }
    }

    void freeForForward(int r) {
        while (rank(r).held + sizes_.forward > limit_ && hasWeights(r))
            putWeight(r);
    }

    /// Weight gradients into the gap before a rank's next op: all that fit, and where `short_too` one that
    /// does not, if the gap would make this rank the worst.
    void fillGap(bool forward, int chunk, int r, bool short_too) {
        const auto ready = arrival(forward, chunk, r);
        if (!ready) return;
        RankState& state = rank(r);
        while (hasWeights(r) && *ready >= state.now + w_)
            putWeight(r);
        const Time may_idle = std::max(worst_, state.allowance) - state.bubble;
        if (short_too && hasWeights(r) && *ready - state.now > may_idle) putWeight(r);
    }

    [[nodiscard]] bool takesChunk0Gradient(int r) {
        const RankState& state = rank(r);
        if (state.input_grads[1] <= state.input_grads[0]) return false;
        if (r == p_ - 1 || state.input_grads[1] >= m_) return true;
        return end(false, 0, r + 1, state.input_grads[0]) != kUnset;
    }

    void inputGradients() {
        towards_first_.clear();
        for (int r = 0; r < p_; ++r) {
            if (takesChunk0Gradient(r)) towards_first_.push_back(r);
        }
        std::size_t next = 0;
        for (auto it = towards_first_.rbegin(); it != towards_first_.rend(); ++it) {
            fillGap(false, 0, *it, true);
            put(false, 0, *it);
        }
        for (int r = 0; r < p_; ++r) {
            if (next < towards_first_.size() && towards_first_[next] == r) {
                ++next;
                continue;
            }
            fillGap(false, 1, r, fill_.before_input_grad_1);
            put(false, 1, r);
        }
    }

    /// Which chunk a rank's next forward is of; chunk 1 first, none where its input is not on its way yet.
    std::optional<int> nextForward(int r) {
        const auto& count = rank(r).forwards;
        if (count[1] >= m_) return std::nullopt;
        if (count[1] >= count[0]) return 0;
        if (r == p_ - 1 || end(true, 1, r + 1, count[1]) != kUnset) return 1;
        if (count[0] < m_ && (r == 0 || end(true, 0, r - 1, count[0]) != kUnset)) return 0;
        return std::nullopt;
    }

    void forwards() {
        for (int r = 0; r < p_ && going_; ++r) {
            const auto chunk = nextForward(r);
            if (!chunk) continue;
            freeForForward(r);
            fillGap(true, *chunk, r, fill_.before_forward);
            put(true, *chunk, r);
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
    Fill fill_;
    std::vector<RankState> ranks_;
    std::vector<Time> ends_;
    std::vector<int> towards_first_;
    Time worst_ = 0;                                  ///< largest bubble of all ranks; bubbles only grow
    Time give_up_ = std::numeric_limits<Time>::max(); ///< a largest bubble of this or more is of no use
    bool going_ = true;                               ///< false: does not fit into memory, or is of no use
};

} // namespace

std::optional<std::vector<std::vector<Op>>> zbVGreedyOrder(const ZbVGreedyInput& input) {
    std::optional<Run> best;
    for (const bool before_input_grad : {true, false}) {
        for (const bool before_forward : {true, false}) {
            const Fill fill{before_forward, before_input_grad};
            auto run = GreedyRun(input, fill, nullptr).play();
            if (!run) continue;
            while (run->worst > 0) {
                auto next = GreedyRun(input, fill, &*run).play();
                if (!next) break;
                run = std::move(next);
            }
            if (!best || run->worst < best->worst) best = std::move(run);
            if (best->worst == 0) return std::move(best->ranks); // nothing can be better
        }
    }
    if (!best) return std::nullopt;
    return std::move(best->ranks);
}

} // namespace bubblescope
