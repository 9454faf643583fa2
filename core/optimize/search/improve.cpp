#include "core/optimize/search/improve.h"

#include "core/optimize/search/justify.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::int32_t kReach = 6;      ///< places from the border of a block that are tried
constexpr int kFarMoves = 2;            ///< weight gradients in the midst of a block that are tried
constexpr std::size_t kMostMoves = 160; ///< judged for one move
constexpr std::int32_t kFarthest = 64;  ///< distance of a move
constexpr std::size_t kTries = 8;       ///< moves tried in turn where they deadlock

/// Adjacent ops of one rank on the longest chain.
struct Block {
    std::int32_t rank = 0;
    std::int32_t first = 0;
    std::int32_t last = 0;
};

struct Judged {
    OrderMove move;
    std::int64_t estimate = 0;
    std::uint64_t tie = 0;
};

class TabuSearch {
public:
    TabuSearch(const OrderProblem& problem, const ImproveOptions& options, const JobControl& control)
        : problem_(problem), options_(options), control_(control), stop_(control, 64), random_(options.seed),
          now_(problem), rests_(static_cast<std::size_t>(problem.size()), 0) {}

    Improved run(const RankOrders& start) {
        Improved result;
        if (!now_.assign(start)) return result;
        justify(now_, kJustifyMost, control_);
        best_ = now_.orders();
        best_makespan_ = now_.makespan();
        bool justified = true; // the best order
        std::int64_t since = 0;
        while (best_makespan_ > options_.goal && now_.touched() < options_.effort && !stop_.requested()) {
            if (!step()) since = options_.patience;
            if (now_.makespan() < best_makespan_) {
                best_makespan_ = now_.makespan();
                best_ = now_.orders();
                since = 0;
                justified = false;
            } else if (++since > options_.patience) {
                since = 0;
                if (!justified && justifyBest()) continue;
                justified = true;
                if (!shake()) break;
            }
        }
        result.orders = std::move(best_);
        result.makespan = best_makespan_;
        result.moves = moves_;
        result.judged = judged_;
        result.touched = now_.touched();
        return result;
    }

private:
    /// Follows the longest chain from its end. Of several, a random one.
    void findBlocks() {
        blocks_.clear();
        std::vector<OpNumber> ends;
        for (const auto& order : now_.orders()) {
            if (!order.empty() && now_.start(order.back()) + now_.tail(order.back()) == now_.makespan())
                ends.push_back(order.back());
        }
        if (ends.empty()) return;
        OpNumber op = ends[random_() % ends.size()];
        Block block{problem_.op(op).rank.value, now_.place(op), now_.place(op)};
        while (true) {
            const OpNumber before = now_.previous(op);
            const OpNumber input = problem_.op(op).input;
            const std::int64_t start = now_.start(op);
            const bool by_rank = before != kNoNumber && now_.start(before) + problem_.op(before).busy == start;
            const bool by_input = input != kNoNumber && problem_.op(input).rank != problem_.op(op).rank &&
                                  now_.start(input) + problem_.op(input).time + problem_.op(input).arrival == start;
            if (by_rank && (!by_input || random_() % 2 == 0)) {
                --block.first;
                now_.touch(1);
                op = before;
                continue;
            }
            blocks_.push_back(block);
            if (!by_input) return;
            op = input;
            block = {problem_.op(op).rank.value, now_.place(op), now_.place(op)};
        }
    }

    void propose(std::int32_t rank, std::int32_t from, std::int32_t to) {
        if (from == to || std::abs(from - to) > kFarthest) return;
        const OrderMove move{rank, from, to};
        if (problem_.uniform() && std::abs(from - to) == 1) {
            // Two micro-batches of one kind and stage are the same to each other.
            const auto& order = now_.orders()[static_cast<std::size_t>(rank)];
            const NeededOp& a = problem_.op(order[static_cast<std::size_t>(from)]);
            const NeededOp& b = problem_.op(order[static_cast<std::size_t>(to)]);
            if (a.kind == b.kind && a.stage == b.stage) return;
        }
        moves_to_judge_.push_back(move);
    }

    void proposeIn(const Block& block) {
        const std::int32_t near_first = std::min(block.last, block.first + kReach);
        const std::int32_t near_last = std::max(block.first, block.last - kReach);
        for (std::int32_t i = near_last; i < block.last; ++i) {
            propose(block.rank, i, block.last);
            propose(block.rank, block.last, i);
        }
        for (std::int32_t i = block.first + 1; i <= near_first; ++i) {
            propose(block.rank, i, block.first);
            propose(block.rank, block.first, i);
        }
        const auto length = static_cast<std::uint64_t>(block.last - block.first + 1);
        const auto& order = now_.orders()[static_cast<std::size_t>(block.rank)];
        for (int i = 0; i < kFarMoves && length > 2; ++i) {
            const auto from = block.first + static_cast<std::int32_t>(random_() % length);
            if (problem_.op(order[static_cast<std::size_t>(from)]).kind != OpKind::BackwardWeight) continue;
            propose(block.rank, from, block.last);
            // Behind the block its rank may be idle.
            const auto count = static_cast<std::int32_t>(order.size());
            const auto behind = static_cast<std::int32_t>(random_() % 8);
            propose(block.rank, from, std::min(count - 1, block.last + behind));
        }
    }

    /// One move; false where there is none.
    bool step() {
        findBlocks();
        moves_to_judge_.clear();
        const std::size_t offset = blocks_.empty() ? 0 : random_() % blocks_.size();
        for (std::size_t i = 0; i < blocks_.size() && moves_to_judge_.size() < kMostMoves; ++i)
            proposeIn(blocks_[(offset + i) % blocks_.size()]);
        found_.clear();
        for (const OrderMove& move : moves_to_judge_) {
            if (!now_.allowed(move)) continue;
            ++judged_;
            const std::int64_t estimate = now_.estimate(move);
            const OpNumber op = now_.orders()[static_cast<std::size_t>(move.rank)][static_cast<std::size_t>(move.from)];
            if (rests_[static_cast<std::size_t>(op)] > moves_ && estimate >= best_makespan_) continue;
            found_.push_back({move, estimate, random_()});
        }
        const std::size_t tries = std::min(kTries, found_.size());
        std::partial_sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(tries), found_.end(),
                          [](const Judged& a, const Judged& b) {
                              return a.estimate != b.estimate ? a.estimate < b.estimate : a.tie < b.tie;
                          });
        for (std::size_t i = 0; i < tries; ++i) {
            if (carryOut(found_[i].move)) return true;
        }
        return false;
    }

    bool carryOut(const OrderMove& move) {
        const OpNumber op = now_.orders()[static_cast<std::size_t>(move.rank)][static_cast<std::size_t>(move.from)];
        if (!now_.apply(move)) return false;
        ++moves_;
        rests_[static_cast<std::size_t>(op)] = moves_ + 6 + static_cast<std::int64_t>(random_() % 10);
        return true;
    }

    /// Back to the best order; true if justification makes it shorter.
    bool justifyBest() {
        if (!now_.assign(best_) || !justify(now_, kJustifyMost, control_)) return false;
        best_makespan_ = now_.makespan();
        best_ = now_.orders();
        return true;
    }

    /// Back to the best order, with some random moves. False if none can be carried out.
    bool shake() {
        if (!now_.assign(best_)) return false;
        const int count = 3 + static_cast<int>(random_() % 8);
        bool any = false;
        for (int tries = 0, done = 0; tries < 50 * count && done < count; ++tries) {
            const auto rank = random_() % now_.orders().size();
            const auto length = static_cast<std::int32_t>(now_.orders()[rank].size());
            if (length < 2) continue;
            const auto from = static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(length));
            const auto by = static_cast<std::int32_t>(random_() % 9) - 4;
            const OrderMove move{static_cast<std::int32_t>(rank), from, std::clamp(from + by, 0, length - 1)};
            if (move.from == move.to || !now_.allowed(move) || !carryOut(move)) continue;
            any = true;
            ++done;
        }
        return any;
    }

    const OrderProblem& problem_;
    const ImproveOptions& options_;
    const JobControl& control_;
    StopCheck stop_;
    std::mt19937_64 random_;
    OrderEvaluator now_;
    std::vector<std::int64_t> rests_; ///< per op: number of the move until which it stays
    std::vector<Block> blocks_;
    std::vector<OrderMove> moves_to_judge_;
    std::vector<Judged> found_;
    RankOrders best_;
    std::int64_t best_makespan_ = 0;
    std::int64_t moves_ = 0;
    std::int64_t judged_ = 0;
};

} // namespace

Improved improveOrder(const OrderProblem& problem, const RankOrders& start, const ImproveOptions& options,
                      const JobControl& control) {
    return TabuSearch(problem, options, control).run(start);
}

} // namespace bubblescope
