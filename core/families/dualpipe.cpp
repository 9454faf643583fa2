// DualPipe and DualPipeV (DeepSeek-AI 2024): micro-batches enter a pipeline of n ranks from two sides, and a forward
// from one side is paired with a backward from the other.
//
// DualPipeV has one model with V placement, so each rank holds an early and a late chunk, and n = p. DualPipe holds the
// model twice: chunk 0 goes down the ranks, and chunk 1 goes up. If this is folded in the middle, rank s and its mirror
// image p−1−s run the same ops with exchanged chunks. Therefore, n = p/2, and half of the micro-batches go in each
// direction. Micro-batches are numbered in each direction from 0, as in the authors' program.
//
// Rank s of n runs, with m micro-batches per side (the "near" chunk first): 2(n−s−1) near forwards; s+1 forwards of
// both in alternation; n−s−1 far backwards split into I and W, each followed by a far forward; m−2n+s+1 times a near
// forward with a far backward and the reverse, all as pairs; then n−s−1 far backwards and the remaining pairs; s+1
// backwards of both, of which the second half defer their weight gradients; n−s−1 near input gradients, each after the
// oldest deferred weight gradient; the remaining weight gradients.
//
// The DualPipeV of DeepSeek, PyTorch and Paddle are identical op by op; the flavor is only the name of the program.

#include "core/families/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// Builds the list of one rank. A side is 0 for micro-batches that enter near this rank, and 1 for the others.
class DualPipeRank {
public:
    DualPipeRank(int ranks, int rank, int microbatches, bool mirrored)
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
            if (i == 0 && rank_ == ranks_ - 1) { // where both sides meet, this is the backward of the last forward
                forward(0);
                backward(1, false);
            } else {
                pair(0, 1);
            }
            pair(1, 0);
        }
    }

    /// Backwards of both sides in alternation; the second half defer their weight gradients.
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
    std::vector<Kept> kept_; ///< deferred weight gradients, oldest first
    std::size_t done_ = 0;   ///< number of deferred weight gradients that have run
};

Result<Schedule> generateDualPipeV(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireTwoChunks(spec));
    BUBBLESCOPE_TRY(checkDualPipeV(spec.pp, spec.microbatches));
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.vpp = 2;
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(DualPipeRank(spec.pp, s, spec.microbatches, false).build());
    return schedule;
}

Result<Schedule> generateDualPipe(const ScheduleSpec& spec) {
    const int p = spec.pp;
    BUBBLESCOPE_TRY(requireTwoChunks(spec));
    BUBBLESCOPE_TRY(checkDualPipe(p, spec.microbatches));
    Schedule schedule = emptySchedule(spec, Placement::Bidirectional);
    schedule.vpp = 2;
    for (int s = 0; s < p; ++s)
        schedule.ranks.push_back(
            DualPipeRank(p / 2, std::min(s, p - 1 - s), spec.microbatches / 2, s >= p / 2).build());
    return schedule;
}

} // namespace

Status checkDualPipeV(int p, int m) {
    if (m >= 2 * p) return {};
    return usageError(fmt::format("dualpipev needs m ≥ 2p: {} micro-batches, {} ranks", m, p),
                      fmt::format("use {} or more", 2 * p));
}

Status checkDualPipe(int p, int m) {
    if (p % 2 != 0)
        return usageError(fmt::format("dualpipe needs an even number of ranks, not {}", p), "or use dualpipev");
    if (m % 2 == 0 && m >= 2 * p) return {};
    return usageError(fmt::format("dualpipe needs m even and at least 2p: {} micro-batches, {} ranks", m, p),
                      fmt::format("use {} micro-batches", std::max(m + m % 2, 2 * p)));
}

ScheduleFamily dualPipeVFamily() {
    return {.name = "dualpipev",
            .title = "DualPipeV",
            .flavors = {"deepseek", "torch", "paddle"},
            .placement = Placement::V,
            .limits = "m ≥ 2p, v = 2",
            .generate = generateDualPipeV};
}

ScheduleFamily dualPipeFamily() {
    return {.name = "dualpipe",
            .title = "DualPipe",
            .placement = Placement::Bidirectional,
            .limits = "p even, m even, m ≥ 2p, v = 2",
            .generate = generateDualPipe};
}

} // namespace bubblescope
