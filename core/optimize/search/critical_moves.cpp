#include "core/optimize/search/critical_moves.h"

#include <algorithm>
#include <cstdlib>

namespace bubblescope {
namespace {

constexpr std::int32_t kReach = 6;      ///< number of places tried from the border of a block
constexpr int kFarMoves = 2;            ///< weight gradients tried inside a block
constexpr std::size_t kMostMoves = 160; ///< per call
constexpr std::int32_t kFarthest = 64;  ///< distance of a move

} // namespace

const std::vector<OrderMove>& CriticalMoves::propose(OrderEvaluator& order, std::mt19937_64& random) {
    findBlocks(order, random);
    moves_.clear();
    const std::size_t offset = blocks_.empty() ? 0 : random() % blocks_.size();
    for (std::size_t i = 0; i < blocks_.size() && moves_.size() < kMostMoves; ++i)
        proposeIn(order, blocks_[(offset + i) % blocks_.size()], random);
    return moves_;
}

/// Follows the longest chain from its end.
void CriticalMoves::findBlocks(OrderEvaluator& order, std::mt19937_64& random) {
    const OrderProblem& problem = order.problem();
    blocks_.clear();
    std::vector<OpNumber> ends;
    for (const auto& list : order.orders()) {
        if (!list.empty() && order.start(list.back()) + order.tail(list.back()) == order.makespan())
            ends.push_back(list.back());
    }
    if (ends.empty()) return;
    OpNumber op = ends[random() % ends.size()];
    Block block{problem.op(op).rank.value, order.place(op), order.place(op)};
    while (true) {
        const OpNumber before = order.previous(op);
        const OpNumber input = problem.op(op).input;
        const std::int64_t start = order.start(op);
        const bool by_rank = before != kNoNumber && order.start(before) + problem.op(before).busy == start;
        const bool by_input = input != kNoNumber && problem.op(input).rank != problem.op(op).rank &&
                              order.start(input) + problem.op(input).time + problem.op(input).arrival == start;
        if (by_rank && (!by_input || random() % 2 == 0)) {
            --block.first;
            order.touch(1);
            op = before;
            continue;
        }
        blocks_.push_back(block);
        if (!by_input) return;
        op = input;
        block = {problem.op(op).rank.value, order.place(op), order.place(op)};
    }
}

void CriticalMoves::add(const OrderEvaluator& order, std::int32_t rank, std::int32_t from, std::int32_t to) {
    if (from == to || std::abs(from - to) > kFarthest) return;
    const OrderProblem& problem = order.problem();
    if (problem.uniform() && std::abs(from - to) == 1) {
        // Two micro-batches of one kind and stage are equivalent.
        const auto& list = order.orders()[static_cast<std::size_t>(rank)];
        const NeededOp& a = problem.op(list[static_cast<std::size_t>(from)]);
        const NeededOp& b = problem.op(list[static_cast<std::size_t>(to)]);
        if (a.kind == b.kind && a.stage == b.stage) return;
    }
    moves_.push_back({rank, from, to});
}

void CriticalMoves::proposeIn(const OrderEvaluator& order, const Block& block, std::mt19937_64& random) {
    const std::int32_t near_first = std::min(block.last, block.first + kReach);
    const std::int32_t near_last = std::max(block.first, block.last - kReach);
    for (std::int32_t i = near_last; i < block.last; ++i) {
        add(order, block.rank, i, block.last);
        add(order, block.rank, block.last, i);
    }
    for (std::int32_t i = block.first + 1; i <= near_first; ++i) {
        add(order, block.rank, i, block.first);
        add(order, block.rank, block.first, i);
    }
    const auto length = static_cast<std::uint64_t>(block.last - block.first + 1);
    const auto& list = order.orders()[static_cast<std::size_t>(block.rank)];
    for (int i = 0; i < kFarMoves && length > 2; ++i) {
        const auto from = block.first + static_cast<std::int32_t>(random() % length);
        if (order.problem().op(list[static_cast<std::size_t>(from)]).kind != OpKind::BackwardWeight) continue;
        add(order, block.rank, from, block.last);
        // After the block its rank may be idle.
        const auto count = static_cast<std::int32_t>(list.size());
        const auto behind = static_cast<std::int32_t>(random() % 8);
        add(order, block.rank, from, std::min(count - 1, block.last + behind));
    }
}

} // namespace bubblescope
