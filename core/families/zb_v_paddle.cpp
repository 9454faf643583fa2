// ZB-V in the order of Paddle's ZBVPP pass, for any number v ≥ 2 of chunks along a V with v legs. As for the greedy
// order (zb_v_greedy.cpp), all ranks are simulated together, and gaps are filled with waiting weight gradients. It
// differs in the warm-up, which handles v legs; in the loss, whose time it adds on the last stage; and in the
// objective: of eight ways to fill gaps, it takes the order that ends first, not the one whose worst rank idles least.
//
// Warm-up: leg by leg, a first forward passes all ranks; then a first input gradient of chunk 0 does, without being
// placed. The gap before it reaches a rank is filled with forwards of the chunks reached so far, one chunk after
// another, each on all ranks that it must pass first. On legs that go up, ranks also catch up with the first rank. Then
// rounds: each rank takes one input gradient, of the lowest chunk that has one ready, and one forward, of the highest.
// Before either, weight gradients fill the gap. One that does not fit is placed if the gap would make this rank the one
// with the most idle time and the way of filling allows it. The rank of the loss, from which all others get their
// gradients late, may run one before an input gradient if a fifth of it fits.
//
// A run is repeated, allowing each rank its difference to the worst rank as idle time, while the largest idle time
// shrinks. A repetition is used if it ends earlier.

#include "core/families/timed_orders.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace bubblescope {
namespace {

struct PaddleFill {
    bool before_input_grad = true;
    bool before_forward = true;
    bool on_loss_rank = true;
};

struct PaddleStep {
    OpKind kind;
    int chunk;
};

struct PaddleRun {
    std::vector<std::vector<PaddleStep>> ranks;
    std::vector<TimeNs> bubbles; ///< idle time since the first forward, per rank
    TimeNs worst{0};             ///< the largest of these bubbles
    TimeNs end{0};
};

class PaddlePlayer {
public:
    PaddlePlayer(const ScheduleSpec& spec, std::int64_t memory_limit, std::int64_t input_grad_peak)
        : spec_(spec), memory_limit_(memory_limit), input_grad_peak_(input_grad_peak), p_(spec.pp),
          m_(spec.microbatches), v_(spec.vpp), loss_rank_(v_ % 2 == 0 ? 0 : p_ - 1),
          ends_(2 * cells() * static_cast<std::size_t>(m_)) {}

    /// The best of a run and its repetitions; empty if memory does not suffice.
    std::optional<PaddleRun> best(PaddleFill fill, const PaddleRun* before = nullptr) {
        auto run = play(fill, before);
        if (!run || (before != nullptr && run->worst >= before->worst)) return run;
        auto next = best(fill, &*run);
        if (!next) return std::nullopt;
        return next->end < run->end ? std::move(next) : std::move(run);
    }

private:
    struct RankState {
        std::vector<PaddleStep> steps;
        std::size_t next_weight = 0; ///< index in input_grads
        std::vector<int>
            input_grads; ///< their chunks in the order in which they ran; weight gradients follow in that order
        TimeNs now{0};
        TimeNs bubble{0};
        TimeNs allowance{0}; ///< minimum idle time that this rank is allowed
        std::int64_t held = 0;
        [[nodiscard]] bool hasWeights() const { return next_weight < input_grads.size(); }
    };

    [[nodiscard]] std::size_t cells() const { return static_cast<std::size_t>(v_) * static_cast<std::size_t>(p_); }

    std::optional<PaddleRun> play(PaddleFill fill, const PaddleRun* before) {
        fill_ = fill;
        fits_ = true;
        worst_ = TimeNs{0};
        done_.assign(2 * cells(), 0);
        ranks_.assign(static_cast<std::size_t>(p_), {});
        for (std::size_t r = 0; before != nullptr && r < ranks_.size(); ++r)
            ranks_[r].allowance = before->worst - before->bubbles[r];
        warmUp();
        const auto all = static_cast<std::size_t>(v_) * static_cast<std::size_t>(m_);
        while (fits_ && rank(loss_rank_).input_grads.size() < all)
            round();
        if (!fits_) return std::nullopt;
        PaddleRun run;
        run.worst = worst_;
        for (int r = 0; r < p_; ++r) {
            while (rank(r).hasWeights())
                putWeight(r);
            run.end = std::max(run.end, rank(r).now);
            run.bubbles.push_back(rank(r).bubble);
            run.ranks.push_back(std::move(rank(r).steps));
        }
        return run;
    }

    RankState& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }

    [[nodiscard]] std::size_t cell(OpKind kind, int chunk, int r) const {
        return ((kind == OpKind::Forward ? 0 : cells()) +
                static_cast<std::size_t>(chunk) * static_cast<std::size_t>(p_) + static_cast<std::size_t>(r));
    }

    int& done(OpKind kind, int chunk, int r) { return done_[cell(kind, chunk, r)]; }

    /// The rank that sends the input; p or −1 where the V turns or starts.
    [[nodiscard]] static int source(OpKind kind, int chunk, int r) {
        return (kind == OpKind::Forward) == (chunk % 2 == 0) ? r - 1 : r + 1;
    }
    [[nodiscard]] bool isRank(int r) const { return r >= 0 && r < p_; }

    /// The time when the input of a rank's next op of a kind arrives. Requires canTake().
    TimeNs arrival(OpKind kind, int chunk, int r) {
        const int from = source(kind, chunk, r);
        if (!isRank(from)) return spec_.comm;
        return ends_[cell(kind, chunk, from) * static_cast<std::size_t>(m_) +
                     static_cast<std::size_t>(done(kind, chunk, r))] +
               spec_.comm;
    }

    bool canTake(OpKind kind, int chunk, int r) {
        const int next = done(kind, chunk, r);
        if (next >= m_) return false;
        if (kind == OpKind::Forward && chunk > 0 && done(kind, chunk - 1, r) <= next) return false;
        if (kind == OpKind::BackwardInput) {
            const bool last = chunk == v_ - 1;
            if (done(last ? OpKind::Forward : kind, last ? chunk : chunk + 1, r) <= next) return false;
        }
        const int from = source(kind, chunk, r);
        return !isRank(from) || done(kind, chunk, from) > next;
    }

    [[nodiscard]] TimeNs duration(OpKind kind, int chunk, int r) const {
        return spec_.times.of(kind) + (r == loss_rank_ && chunk == v_ - 1 ? spec_.loss : TimeNs{0});
    }

    /// True if there is enough free memory for an op while it runs.
    bool hasRoom(OpKind kind, int r) {
        return rank(r).held + (kind == OpKind::Forward ? spec_.sizes.forward : input_grad_peak_) <= memory_limit_;
    }

    void put(OpKind kind, int chunk, int r) {
        RankState& state = rank(r);
        fits_ = fits_ && hasRoom(kind, r);
        const TimeNs start = std::max(state.now, arrival(kind, chunk, r));
        if (done(OpKind::Forward, 0, r) > 0) state.bubble += start - state.now;
        worst_ = std::max(worst_, state.bubble);
        state.now = start + duration(kind, chunk, r);
        int& count = done(kind, chunk, r);
        ends_[cell(kind, chunk, r) * static_cast<std::size_t>(m_) + static_cast<std::size_t>(count++)] = state.now;
        state.held += kind == OpKind::Forward ? spec_.sizes.forward : -spec_.sizes.input_grad;
        state.steps.push_back({kind, chunk});
        if (kind == OpKind::BackwardInput) state.input_grads.push_back(chunk);
    }

    void putWeight(int r) {
        RankState& state = rank(r);
        const int chunk = state.input_grads[state.next_weight++];
        state.now += duration(OpKind::BackwardWeight, chunk, r);
        state.held -= spec_.sizes.weight_grad;
        state.steps.push_back({OpKind::BackwardWeight, chunk});
    }

    void warmUp() {
        for (int r = 0; r < p_; ++r)
            put(OpKind::Forward, 0, r);
        for (int chunk = 1; chunk < v_; ++chunk)
            sendFirst(OpKind::Forward, chunk, chunk);
        sendFirst(OpKind::BackwardInput, 0, v_);
    }

    /// Runs the first forward of a chunk through all ranks, or the first input gradient of chunk 0 without placing it.
    /// Until it arrives, forwards of the first `chunks` chunks fill the gap.
    void sendFirst(OpKind kind, int chunk, int chunks) {
        const bool up = chunks % 2 == 0;
        const auto nth = [&](int k) { return up ? k : p_ - 1 - k; };
        TimeNs comes = rank(nth(0)).now;
        if (kind == OpKind::Forward) put(kind, chunk, nth(0));
        for (int k = 1; k < p_ && fits_; ++k) {
            const int r = nth(k);
            comes += spec_.comm + duration(kind, chunk, r);
            fillGap(r, chunks, comes, up);
            if (kind == OpKind::Forward) put(kind, chunk, r);
        }
    }

    int forwardCount(int r, int chunks) {
        int count = 0;
        for (int chunk = 0; chunk < chunks; ++chunk)
            count += done(OpKind::Forward, chunk, r);
        return count;
    }

    /// Runs forwards on a rank, and on earlier ranks of the leg, until `until`, chunk by chunk. On the way up, ranks
    /// that have run fewer forwards than the first rank run theirs even if it takes longer.
    void fillGap(int r, int chunks, TimeNs until, bool up) {
        const int quota = up ? forwardCount(0, chunks) : 0;
        const int first = up ? p_ - 1 : 0;
        const int step = up ? -1 : 1;
        const auto takes = [&](int chunk, int rank_on_leg) {
            if (!canTake(OpKind::Forward, chunk, rank_on_leg)) return false;
            if (forwardCount(rank_on_leg, chunks) < quota) return true;
            const TimeNs start = std::max(rank(rank_on_leg).now, arrival(OpKind::Forward, chunk, rank_on_leg));
            return start + duration(OpKind::Forward, chunk, rank_on_leg) <= until;
        };
        const auto anyTakes = [&] {
            for (int chunk = 0; chunk < chunks; ++chunk)
                for (int q = first; q != r + step; q += step)
                    if (takes(chunk, q)) return true;
            return false;
        };
        int chunk = (rank(r).steps.back().chunk + 1) % chunks;
        while (fits_ && forwardCount(r, chunks) < chunks * m_ && roomToFill(r) && anyTakes()) {
            for (int q = first; q != r + step; q += step)
                if (takes(chunk, q)) put(OpKind::Forward, chunk, q);
            chunk = (chunk + 1) % chunks;
        }
    }

    /// True if memory remains for one more forward besides the pending first forwards and the first input gradient.
    bool roomToFill(int r) {
        std::int64_t needed = rank(r).held + input_grad_peak_ + spec_.sizes.forward;
        for (int chunk = 1; chunk < v_; ++chunk)
            if (done(OpKind::Forward, chunk, r) == 0) needed += spec_.sizes.forward;
        return needed <= memory_limit_;
    }

    void makeRoom(OpKind kind, int r) {
        while (!hasRoom(kind, r)) {
            if (!rank(r).hasWeights()) {
                fits_ = false;
                return;
            }
            putWeight(r);
        }
    }

    /// Fills the gap before a rank's op with weight gradients, then runs the op.
    void putAfterGap(OpKind kind, int chunk, int r, bool short_too) {
        RankState& state = rank(r);
        const TimeNs arrives = arrival(kind, chunk, r);
        const auto next = [&] { return duration(OpKind::BackwardWeight, state.input_grads[state.next_weight], r); };
        while (state.hasWeights() && arrives >= state.now + next())
            putWeight(r);
        if (kind == OpKind::BackwardInput && r == loss_rank_ && fill_.on_loss_rank) {
            while (state.hasWeights() && 5 * (arrives - state.now) >= next())
                putWeight(r);
        }
        const TimeNs may_idle = std::max(worst_, state.allowance) - state.bubble;
        if (short_too && state.hasWeights() && arrives - state.now > may_idle) putWeight(r);
        put(kind, chunk, r);
    }

    void round() {
        for (int r = 0; r < p_; ++r)
            makeRoom(OpKind::BackwardInput, r);
        const auto nth = [&](int k) { return v_ % 2 == 0 ? k : p_ - 1 - k; };
        for (int k = 0; k < p_ && fits_; ++k) {
            for (int chunk = 0; chunk < v_; ++chunk) {
                if (!canTake(OpKind::BackwardInput, chunk, nth(k))) continue;
                putAfterGap(OpKind::BackwardInput, chunk, nth(k), fill_.before_input_grad);
                break;
            }
        }
        for (int k = 0; k < p_ && fits_; ++k) {
            for (int chunk = v_ - 1; chunk >= 0; --chunk) {
                if (!canTake(OpKind::Forward, chunk, nth(k))) continue;
                makeRoom(OpKind::Forward, nth(k));
                putAfterGap(OpKind::Forward, chunk, nth(k), fill_.before_forward);
                break;
            }
        }
    }

    const ScheduleSpec& spec_;
    std::int64_t memory_limit_;
    std::int64_t input_grad_peak_;
    int p_;
    int m_;
    int v_;
    int loss_rank_;
    PaddleFill fill_;
    std::vector<RankState> ranks_;
    std::vector<int> done_;    ///< number of forwards and input gradients run, by kind, chunk and rank
    std::vector<TimeNs> ends_; ///< end times of these ops, by kind, chunk, rank and micro-batch
    TimeNs worst_{0};
    bool fits_ = true;
};

std::vector<Op> paddleOps(const std::vector<PaddleStep>& steps, int v) {
    std::vector<Op> ops;
    ops.reserve(steps.size());
    std::array<std::vector<int>, 4> done;
    done.fill(std::vector<int>(static_cast<std::size_t>(v)));
    for (const PaddleStep& step : steps) {
        int& count = done[static_cast<std::size_t>(step.kind)][static_cast<std::size_t>(step.chunk)];
        ops.push_back({step.kind, Microbatch{count++}, Chunk{step.chunk}});
    }
    return ops;
}

} // namespace

std::optional<std::vector<std::vector<Op>>> zbVPaddleOrder(const ScheduleSpec& spec, std::int64_t memory_limit,
                                                           std::int64_t input_grad_peak) {
    PaddlePlayer player(spec, memory_limit, input_grad_peak);
    std::optional<PaddleRun> best;
    for (const bool before_input_grad : {true, false}) {
        for (const bool before_forward : {true, false}) {
            for (const bool on_loss_rank : {true, false}) {
                auto run = player.best({before_input_grad, before_forward, on_loss_rank});
                if (!run) return std::nullopt;
                if (!best || run->end < best->end) best = std::move(run);
            }
        }
    }
    std::vector<std::vector<Op>> ranks;
    for (const auto& steps : best->ranks)
        ranks.push_back(paddleOps(steps, spec.vpp));
    return ranks;
}

} // namespace bubblescope
