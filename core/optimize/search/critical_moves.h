#pragma once

#include "core/optimize/search/order_evaluator.h"

#include <cstdint>
#include <random>
#include <vector>

namespace bubblescope {

/// Proposes moves that may shorten a step, for ops on the longest chain. The chain consists of blocks of consecutive
/// ops on one rank. Ops inside a block move after the op that sends or before the op that receives. Check the moves
/// with allowed().
class CriticalMoves {
public:
    /// If there are several longest chains, uses a random one. The result is valid until the next call. O(ops of the
    /// chain).
    const std::vector<OrderMove>& propose(OrderEvaluator& order, std::mt19937_64& random);

private:
    /// Adjacent ops of one rank on the longest chain.
    struct Block {
        std::int32_t rank = 0;
        std::int32_t first = 0;
        std::int32_t last = 0;
    };
    void findBlocks(OrderEvaluator& order, std::mt19937_64& random);
    void proposeIn(const OrderEvaluator& order, const Block& block, std::mt19937_64& random);
    void add(const OrderEvaluator& order, std::int32_t rank, std::int32_t from, std::int32_t to);

    std::vector<Block> blocks_;
    std::vector<OrderMove> moves_;
};

} // namespace bubblescope
