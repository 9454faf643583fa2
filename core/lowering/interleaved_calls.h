#pragma once

#include "core/lowering/neighbour_calls.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace bubblescope {

/// An order in which each rank runs `ahead` forwards, then pairs of a forward and a backward, then the other backwards.
struct InterleavedOrder {
    std::vector<Op> forwards; ///< equal on all ranks
    std::vector<Op> backwards;
    std::vector<int> ahead; ///< per rank

    /// Appends the ops of all chunks for the micro-batches in the range [`first`, `end`).
    void addGroup(int chunks, int first, int end);
    [[nodiscard]] bool is(const Schedule& order) const;
};

/// A rank of interleaved 1F1B, with forwards and backwards each numbered from 0, as in Megatron-core and Paddle.
class InterleavedCalls {
public:
    InterleavedCalls(const Schedule& order, Rank rank, bool batched, int ahead);

    [[nodiscard]] std::size_t steps() const { return forwards_.size(); }
    [[nodiscard]] std::size_t warmUp() const { return warm_up_; }
    [[nodiscard]] std::size_t pairs() const { return steps() - warm_up_; }
    [[nodiscard]] const Op& forward(std::size_t step) const { return calls.ops()[forwards_[step]]; }
    [[nodiscard]] const Op& backward(std::size_t step) const { return calls.ops()[backwards_[step]]; }
    void computeForward(std::size_t step) { calls.compute(forwards_[step]); }
    void computeBackward(std::size_t step) { calls.compute(backwards_[step]); }

    /// Next activation or gradient that a chunk receives.
    std::optional<Action> nextInput(Chunk chunk) { return next(OpKind::Forward, inputs_, chunk); }
    std::optional<Action> nextGradient(Chunk chunk) { return next(OpKind::Backward, gradients_, chunk); }

    NeighbourCalls calls;

private:
    std::optional<Action> next(OpKind kind, std::vector<int>& received, Chunk chunk);

    std::size_t warm_up_;
    std::vector<std::size_t> forwards_; ///< indices of the rank's ops
    std::vector<std::size_t> backwards_;
    std::vector<int> inputs_; ///< number of received activations per chunk
    std::vector<int> gradients_;
};

} // namespace bubblescope
