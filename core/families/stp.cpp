// STP, synergistic tensor and pipeline parallelism (arXiv 2510.27257, 2025; the program MICLAB-BUPT/STP): one model
// along a V, as in DualPipeV, whose ops run as pairs wherever possible. Each half of a pair hides the tensor-parallel
// all-reduces of the other. Besides a forward with a backward, two forwards run as a pair, and a forward with a weight
// gradient that waits.
//
// Rank s of p runs, with n = p−s−1 ranks after it ("near" is chunk 0, "far" chunk 1):
//   1. 2n near forwards; s+1 times a near and a far forward; s+1 more near forwards, as pairs except for an odd first;
//   2. n times a far forward with a far input gradient, then a near forward with the oldest waiting weight gradient;
//   3. 2(m−3p+1)+1+2s pairs of a forward and a backward of one chunk, far and near in turn; the last s postpone their
//      weight gradients;
//   4. p−1+n times a near backward, then the last far forwards, each with a far input gradient;
//   5. s+1 times a near and a far backward; n+1 near backwards with two waiting weight gradients between them; the
//      remaining weight gradients.

#include "core/families/families.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr int kNear = 0;
constexpr int kFar = 1;

/// Builds the list of one rank.
class StpRank {
public:
    StpRank(int ranks, int rank, int microbatches) : ranks_(ranks), rank_(rank), microbatches_(microbatches) {}

    std::vector<Op> build() {
        const int after = ranks_ - rank_ - 1;
        warmUp(after);
        for (int i = 0; i < after; ++i) {
            pair(forward(kFar), backward(kFar, true));
            pair(forward(kNear), weight());
        }
        steady();
        for (int i = 0; i < ranks_ - 1 + after; ++i) {
            alone(backward(kNear, false));
            pair(forward(kFar), backward(kFar, true));
        }
        drain(after);
        return std::move(ops_);
    }

private:
    void warmUp(int after) {
        for (int i = 0; i < 2 * after; ++i)
            alone(forward(kNear));
        for (int i = 0; i <= rank_; ++i) {
            alone(forward(kNear));
            alone(forward(kFar));
        }
        if (rank_ % 2 == 0) alone(forward(kNear));
        for (int i = 0; i < (rank_ + 1) / 2; ++i) {
            const Op first = forward(kNear);
            pair(first, forward(kNear));
        }
    }

    void steady() {
        const int whole = 2 * (microbatches_ - 3 * ranks_ + 1) + 1 + rank_;
        for (int i = 0; i < whole + rank_; ++i) {
            const int chunk = i % 2 == 0 ? kFar : kNear;
            pair(forward(chunk), backward(chunk, i >= whole));
        }
    }

    void drain(int after) {
        for (int i = 0; i <= rank_; ++i) {
            alone(backward(kNear, false));
            alone(backward(kFar, false));
        }
        alone(backward(kNear, false));
        for (int i = 0; i < after; ++i) {
            alone(weight());
            alone(weight());
            alone(backward(kNear, false));
        }
        for (int i = 0; i < 2 * rank_; ++i)
            alone(weight());
    }

    void alone(const Op& op) { ops_.push_back(op); }
    void pair(Op first, Op second) {
        first.overlapped = second.overlapped = true;
        ops_.push_back(first);
        ops_.push_back(second);
    }

    Op forward(int chunk) {
        return {OpKind::Forward, Microbatch{forwards_[static_cast<std::size_t>(chunk)]++}, Chunk{chunk}};
    }
    Op backward(int chunk, bool split) {
        const Op op{split ? OpKind::BackwardInput : OpKind::Backward,
                    Microbatch{backwards_[static_cast<std::size_t>(chunk)]++}, Chunk{chunk}};
        if (split) waiting_.push_back(op);
        return op;
    }
    Op weight() {
        Op op = waiting_[done_++];
        op.kind = OpKind::BackwardWeight;
        return op;
    }

    int ranks_;
    int rank_;
    int microbatches_;
    std::vector<Op> ops_;
    std::array<int, 2> forwards_{};
    std::array<int, 2> backwards_{};
    std::vector<Op> waiting_; ///< input gradients whose weight gradients wait, oldest first
    std::size_t done_ = 0;    ///< number of them whose weight gradient has run
};

Result<Schedule> generateStp(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireTwoChunks(spec));
    BUBBLESCOPE_TRY(checkStp(spec.pp, spec.microbatches));
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.vpp = 2;
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(StpRank(spec.pp, s, spec.microbatches).build());
    return schedule;
}

} // namespace

Status checkStp(int p, int m) {
    const std::int64_t least = 3 * std::int64_t{p} - 1;
    if (m >= least) return {};
    return usageError(fmt::format("stp needs m ≥ 3p−1: {} micro-batches, {} ranks", m, p),
                      fmt::format("use {} or more", Field("microbatches").is(least)));
}

ScheduleFamily stpFamily() {
    return {.name = "stp",
            .title = "STP (synergistic tensor and pipeline parallelism)",
            .placement = Placement::V,
            .limits = "m ≥ 3p−1, v = 2",
            .generate = generateStp};
}

} // namespace bubblescope
