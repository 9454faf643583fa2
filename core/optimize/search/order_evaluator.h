#pragma once

#include "core/optimize/search/order_problem.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// The position in a rank's list to which an op moves. Ops in between shift by one.
struct OrderMove {
    std::int32_t rank = 0;
    std::int32_t from = 0;
    std::int32_t to = 0;
};

/// The times of a changing order. Stores the start of each op and the longest path from it to the end of the step.
/// Estimating a move examines only the ops that it shifts, and applying it recomputes only what it affects.
///
/// Times are those of simulate() if the problem is plain(); stepLength() defines the end of the step. Not thread-safe.
class OrderEvaluator {
public:
    explicit OrderEvaluator(const OrderProblem& problem);

    /// Sets the order, which must contain all ops of the problem. On a deadlock, returns false and sets no order.
    [[nodiscard]] bool assign(const RankOrders& orders);

    [[nodiscard]] const OrderProblem& problem() const { return *problem_; }
    [[nodiscard]] const RankOrders& orders() const { return orders_; }
    [[nodiscard]] std::int64_t makespan() const { return makespan_; }
    [[nodiscard]] std::int64_t start(OpNumber op) const { return start_[at(op)]; }
    /// The time from the op's start to the step's end along the longest chain of ops that wait for it.
    [[nodiscard]] std::int64_t tail(OpNumber op) const { return tail_[at(op)]; }
    /// All ops, each after the ops that it waits for.
    [[nodiscard]] const std::vector<OpNumber>& sorted() const { return sorted_; }
    [[nodiscard]] OpNumber previous(OpNumber op) const;
    [[nodiscard]] OpNumber next(OpNumber op) const;
    [[nodiscard]] std::int32_t place(OpNumber op) const { return place_[at(op)]; }

    /// True if the order after the move respects each rank's memory and the order of a micro-batch's ops on one stage.
    /// Does not check for deadlocks. Linear in the distance.
    [[nodiscard]] bool allowed(const OrderMove& move) const;

    /// The longest chain through the ops that the move shifts. The makespan after the move is at least this length, and
    /// at most the larger of it and the current makespan, unless shifted ops wait for each other through other ranks.
    /// Linear in the distance.
    [[nodiscard]] std::int64_t estimate(const OrderMove& move);

    /// Applies a move. If the order would deadlock, returns false and changes nothing.
    [[nodiscard]] bool apply(const OrderMove& move);

    /// With `whole`, the output of an input gradient is sent together with its weight gradient, which follows directly,
    /// as in a combined backward. Otherwise the output is sent separately again.
    void fuse(OpNumber input_grad, bool whole);
    /// Fuses, all at once, the input gradients whose outputs can be sent with their weight gradients without making the
    /// step longer. These input gradients must not be fused yet. O(ops · log(ops)).
    void fuseSlack(const std::vector<OpNumber>& input_grads);
    [[nodiscard]] const std::vector<char>& fused() const { return fused_; }

    /// Number of ops examined so far, in estimates and in moves.
    [[nodiscard]] std::int64_t touched() const { return touched_; }
    /// Adds ops that another evaluator examined.
    void touch(std::int64_t ops) { touched_ += ops; }

private:
    static std::size_t at(OpNumber op) { return static_cast<std::size_t>(op); }
    [[nodiscard]] std::int64_t inputReady(OpNumber op) const {
        const OpNumber input = input_[at(op)];
        return input == kNoNumber ? 0 : start_[at(input)] + reach_[at(input)];
    }
    [[nodiscard]] std::int64_t startOf(OpNumber op) const;
    [[nodiscard]] std::int64_t outputTail(OpNumber op) const {
        const OpNumber output = output_[at(op)];
        return output == kNoNumber ? time_[at(op)] : reach_[at(op)] + tail_[at(output)];
    }
    [[nodiscard]] std::int64_t tailOf(OpNumber op) const;
    /// The tail of an op if it is the last on its rank.
    [[nodiscard]] std::int64_t lastTail(OpNumber op) const {
        return time_[at(op)] + problem_->after(problem_->op(op).rank);
    }
    bool sort();
    bool resortRight(OpNumber moved, OpNumber last);
    bool resortLeft(OpNumber moved, OpNumber first);
    void shift(const OrderMove& move);
    void findPlaces(std::int32_t rank, std::int32_t low, std::int32_t high);
    void dirty(std::vector<std::uint64_t>& bits, OpNumber op);
    void updateStarts();
    void updateTails();
    void findMakespan();
    void computeAll();

    const OrderProblem* problem_;
    RankOrders orders_;
    std::vector<std::int64_t> time_, busy_, reach_; ///< reach: time from an op's start to the arrival of its output
    std::vector<OpNumber> input_, output_;
    std::vector<std::int64_t> start_, tail_;
    std::vector<std::int32_t> place_; ///< index in the list of its rank
    std::vector<std::int64_t> held_;  ///< memory in use on the op's rank before the op starts
    std::vector<OpNumber> sorted_;
    std::vector<std::int32_t> position_; ///< index in `sorted_`
    std::vector<char> fused_;
    std::int64_t makespan_ = 0;
    std::int64_t touched_ = 0;
    // Buffers whose memory is reused.
    std::vector<std::uint64_t> late_, early_; ///< bit per position: start or tail must be recomputed
    std::vector<char> marked_;
    std::vector<OpNumber> before_, after_;
    std::vector<std::int64_t> trial_;
};

} // namespace bubblescope
