#include "core/optimize/search/order_evaluator.h"

#include <algorithm>
#include <bit>

namespace bubblescope {
namespace {

constexpr std::size_t kWord = 64;

} // namespace

OrderEvaluator::OrderEvaluator(const OrderProblem& problem) : problem_(&problem) {
    const auto count = static_cast<std::size_t>(problem.size());
    for (const NeededOp& op : problem.ops()) {
        time_.push_back(op.time);
        busy_.push_back(op.busy);
        reach_.push_back(op.time + op.arrival);
        input_.push_back(op.input);
        output_.push_back(op.output);
    }
    start_.assign(count, 0);
    tail_.assign(count, 0);
    place_.assign(count, 0);
    held_.assign(count, 0);
    position_.assign(count, 0);
    fused_.assign(count, 0);
    marked_.assign(count, 0);
    late_.assign(count / kWord + 1, 0);
    early_.assign(count / kWord + 1, 0);
}

OpNumber OrderEvaluator::previous(OpNumber op) const {
    const std::int32_t place = place_[at(op)];
    return place == 0 ? kNoNumber : orders_[problem_->op(op).rank.index()][at(place - 1)];
}

OpNumber OrderEvaluator::next(OpNumber op) const {
    const auto& order = orders_[problem_->op(op).rank.index()];
    const auto place = at(place_[at(op)] + 1);
    return place == order.size() ? kNoNumber : order[place];
}

std::int64_t OrderEvaluator::startOf(OpNumber op) const {
    const OpNumber before = previous(op);
    const std::int64_t free = before == kNoNumber ? 0 : start_[at(before)] + busy_[at(before)];
    return std::max(free, inputReady(op));
}

std::int64_t OrderEvaluator::tailOf(OpNumber op) const {
    const OpNumber after = next(op);
    const std::int64_t by_rank = after == kNoNumber ? lastTail(op) : busy_[at(op)] + tail_[at(after)];
    return std::max(by_rank, outputTail(op));
}

bool OrderEvaluator::assign(const RankOrders& orders) {
    orders_ = orders;
    sorted_.clear();
    for (std::size_t r = 0; r < orders_.size(); ++r)
        findPlaces(static_cast<std::int32_t>(r), 0, static_cast<std::int32_t>(orders_[r].size()) - 1);
    for (OpNumber op = 0; op < problem_->size(); ++op)
        fuse(op, false);
    if (!sort()) return false;
    computeAll();
    return true;
}

bool OrderEvaluator::sort() {
    sorted_.clear();
    std::vector<std::size_t> head(orders_.size(), 0);
    std::fill(marked_.begin(), marked_.end(), char{0});
    std::vector<std::size_t> runnable;
    for (std::size_t r = orders_.size(); r-- > 0;)
        runnable.push_back(r);
    while (!runnable.empty()) {
        const std::size_t r = runnable.back();
        runnable.pop_back();
        for (; head[r] < orders_[r].size(); ++head[r]) {
            const OpNumber op = orders_[r][head[r]];
            const NeededOp& needs = problem_->op(op);
            if (needs.input != kNoNumber && marked_[at(needs.input)] == 0) break;
            if (needs.own != kNoNumber && marked_[at(needs.own)] == 0) break;
            marked_[at(op)] = 1;
            position_[at(op)] = static_cast<std::int32_t>(sorted_.size());
            sorted_.push_back(op);
            if (needs.output == kNoNumber) continue;
            const std::size_t other = problem_->op(needs.output).rank.index();
            if (other != r && head[other] < orders_[other].size() && orders_[other][head[other]] == needs.output)
                runnable.push_back(other);
        }
    }
    std::fill(marked_.begin(), marked_.end(), char{0});
    return sorted_.size() == at(problem_->size());
}

void OrderEvaluator::computeAll() {
    for (const OpNumber op : sorted_)
        start_[at(op)] = startOf(op);
    // Sorted by start, so that ops that a move shifts past each other are also close in `sorted_`.
    std::ranges::stable_sort(sorted_, {}, [this](OpNumber op) { return start_[at(op)]; });
    for (std::size_t i = 0; i < sorted_.size(); ++i)
        position_[at(sorted_[i])] = static_cast<std::int32_t>(i);
    for (std::size_t i = sorted_.size(); i-- > 0;)
        tail_[at(sorted_[i])] = tailOf(sorted_[i]);
    touched_ += 2 * problem_->size();
    findMakespan();
}

void OrderEvaluator::findMakespan() {
    makespan_ = 0;
    for (const auto& order : orders_) {
        if (!order.empty()) makespan_ = std::max(makespan_, start_[at(order.back())] + lastTail(order.back()));
    }
}

bool OrderEvaluator::allowed(const OrderMove& move) const {
    const auto& order = orders_[at(move.rank)];
    const OpNumber moved = order[at(move.from)];
    const NeededOp& op = problem_->op(moved);
    const std::int32_t low = std::min(move.from, move.to);
    const std::int32_t high = std::max(move.from, move.to);
    const OpNumber bound = move.to > move.from ? op.own_next : op.own;
    if (bound != kNoNumber && place_[at(bound)] >= low && place_[at(bound)] <= high) return false;
    if (!problem_->limited()) return true;
    // Before the shifted ops, memory is what all earlier ops took and did not free; later ops see no difference.
    const std::int64_t capacity = problem_->capacity(Rank{move.rank});
    const bool later = move.to > move.from;
    if (op.takes == 0 && op.frees == 0 && op.workspace == 0) return true;
    std::int64_t held = held_[at(order[at(low)])];
    const auto fits = [&](const NeededOp& runs) {
        held += runs.takes;
        const bool well = held + runs.workspace <= capacity;
        held -= runs.frees;
        return well;
    };
    if (!later && !fits(op)) return false;
    for (std::int32_t i = later ? low + 1 : low; i < (later ? high + 1 : high); ++i)
        if (!fits(problem_->op(order[at(i)]))) return false;
    return !later || fits(op);
}

std::int64_t OrderEvaluator::estimate(const OrderMove& move) {
    const auto& order = orders_[at(move.rank)];
    const std::int32_t low = std::min(move.from, move.to);
    const std::int32_t high = std::max(move.from, move.to);
    const bool later = move.to > move.from;
    before_.clear();
    if (!later) before_.push_back(order[at(move.from)]);
    for (std::int32_t i = later ? low + 1 : low; i < (later ? high + 1 : high); ++i)
        before_.push_back(order[at(i)]);
    if (later) before_.push_back(order[at(move.from)]);
    trial_.resize(before_.size());
    std::int64_t free = 0;
    if (low > 0) {
        const OpNumber before = order[at(low - 1)];
        free = start_[at(before)] + busy_[at(before)];
    }
    for (std::size_t i = 0; i < before_.size(); ++i) {
        trial_[i] = std::max(free, inputReady(before_[i]));
        free = trial_[i] + busy_[at(before_[i])];
    }
    std::int64_t behind = at(high + 1) < order.size() ? tail_[at(order[at(high + 1)])] : -1;
    std::int64_t longest = 0;
    for (std::size_t i = before_.size(); i-- > 0;) {
        const OpNumber op = before_[i];
        behind = std::max(behind < 0 ? lastTail(op) : busy_[at(op)] + behind, outputTail(op));
        longest = std::max(longest, trial_[i] + behind);
    }
    touched_ += static_cast<std::int64_t>(before_.size());
    return longest;
}

/// `moved` goes after `last`, which comes later in `sorted_`, and so must everything that waits for it.
bool OrderEvaluator::resortRight(OpNumber moved, OpNumber last) {
    const std::int32_t begin = position_[at(moved)];
    const std::int32_t end = position_[at(last)];
    touched_ += end - begin;
    const OpNumber skipped = next(moved); // follows the op before `moved` from now on
    before_.clear();
    after_.clear();
    after_.push_back(moved);
    marked_[at(moved)] = 1;
    bool runs = true;
    for (std::int32_t i = begin + 1; i <= end && runs; ++i) {
        const OpNumber op = sorted_[at(i)];
        const OpNumber input = input_[at(op)];
        const OpNumber before = previous(op);
        const bool waits = (input != kNoNumber && marked_[at(input)] != 0) ||
                           (op != skipped && before != kNoNumber && marked_[at(before)] != 0);
        if (waits) {
            marked_[at(op)] = 1;
            after_.push_back(op);
            runs = op != last;
        } else {
            before_.push_back(op);
        }
    }
    for (const OpNumber op : after_)
        marked_[at(op)] = 0;
    // Because of the order of the rank, a shifted op that waits for `moved` makes `last` wait for it too.
    if (!runs) return false;
    std::int32_t position = begin;
    for (const auto* list : {&before_, &after_}) {
        for (const OpNumber op : *list) {
            sorted_[at(position)] = op;
            position_[at(op)] = position++;
        }
    }
    return true;
}

/// `moved` goes before `first`, which comes earlier in `sorted_`, and so must everything that it waits for.
bool OrderEvaluator::resortLeft(OpNumber moved, OpNumber first) {
    const std::int32_t begin = position_[at(first)];
    const std::int32_t end = position_[at(moved)];
    touched_ += end - begin;
    const OpNumber skipped = previous(moved); // is followed by the op after `moved` from now on
    before_.clear();
    after_.clear();
    before_.push_back(moved);
    marked_[at(moved)] = 1;
    bool runs = true;
    for (std::int32_t i = end - 1; i >= begin && runs; --i) {
        const OpNumber op = sorted_[at(i)];
        const OpNumber output = output_[at(op)];
        const OpNumber behind = next(op);
        const bool needed = (output != kNoNumber && marked_[at(output)] != 0) ||
                            (op != skipped && behind != kNoNumber && marked_[at(behind)] != 0);
        if (needed) {
            marked_[at(op)] = 1;
            before_.push_back(op);
            runs = op != first;
        } else {
            after_.push_back(op);
        }
    }
    for (const OpNumber op : before_)
        marked_[at(op)] = 0;
    if (!runs) return false;
    std::int32_t position = end;
    for (const auto* list : {&after_, &before_}) {
        for (const OpNumber op : *list) {
            sorted_[at(position)] = op;
            position_[at(op)] = position--;
        }
    }
    return true;
}

void OrderEvaluator::shift(const OrderMove& move) {
    auto& order = orders_[at(move.rank)];
    const auto begin = order.begin();
    if (move.to > move.from)
        std::rotate(begin + move.from, begin + move.from + 1, begin + move.to + 1);
    else
        std::rotate(begin + move.to, begin + move.from, begin + move.from + 1);
    findPlaces(move.rank, std::min(move.from, move.to), std::max(move.from, move.to));
}

void OrderEvaluator::findPlaces(std::int32_t rank, std::int32_t low, std::int32_t high) {
    const auto& order = orders_[at(rank)];
    std::int64_t held = 0;
    if (low > 0) {
        const OpNumber before = order[at(low - 1)];
        held = held_[at(before)] + problem_->op(before).takes - problem_->op(before).frees;
    }
    for (std::int32_t i = low; i <= high; ++i) {
        const OpNumber op = order[at(i)];
        place_[at(op)] = i;
        held_[at(op)] = held;
        held += problem_->op(op).takes - problem_->op(op).frees;
    }
}

void OrderEvaluator::dirty(std::vector<std::uint64_t>& bits, OpNumber op) {
    if (op == kNoNumber) return;
    const auto position = static_cast<std::size_t>(position_[at(op)]);
    bits[position / kWord] |= std::uint64_t{1} << (position % kWord);
}

bool OrderEvaluator::apply(const OrderMove& move) {
    if (move.from == move.to) return true;
    const auto& order = orders_[at(move.rank)];
    const OpNumber moved = order[at(move.from)];
    const OpNumber other = order[at(move.to)];
    if (!(move.to > move.from ? resortRight(moved, other) : resortLeft(moved, other))) return false;
    shift(move);
    const std::int32_t low = std::min(move.from, move.to);
    const std::int32_t high = std::max(move.from, move.to);
    // Ops with new neighbours: the ends of the shifted range and the ops next to it.
    const auto touch = [&](std::int32_t place) {
        if (place < 0 || at(place) >= order.size()) return;
        dirty(late_, order[at(place)]);
        dirty(early_, order[at(place)]);
    };
    for (const std::int32_t place : {low - 1, low, low + 1, high - 1, high, high + 1})
        touch(place);
    updateStarts();
    updateTails();
    findMakespan();
    return true;
}

void OrderEvaluator::updateStarts() {
    for (std::size_t word = 0; word < late_.size(); ++word) {
        while (late_[word] != 0) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(late_[word]));
            late_[word] &= late_[word] - 1;
            const OpNumber op = sorted_[word * kWord + bit];
            const std::int64_t start = startOf(op);
            ++touched_;
            if (start == start_[at(op)]) continue;
            start_[at(op)] = start;
            dirty(late_, next(op));
            dirty(late_, output_[at(op)]);
        }
    }
}

void OrderEvaluator::updateTails() {
    for (std::size_t word = early_.size(); word-- > 0;) {
        while (early_[word] != 0) {
            const auto bit = kWord - 1 - static_cast<std::size_t>(std::countl_zero(early_[word]));
            early_[word] &= ~(std::uint64_t{1} << bit);
            const OpNumber op = sorted_[word * kWord + bit];
            const std::int64_t tail = tailOf(op);
            ++touched_;
            if (tail == tail_[at(op)]) continue;
            tail_[at(op)] = tail;
            dirty(early_, previous(op));
            dirty(early_, input_[at(op)]);
        }
    }
}

void OrderEvaluator::fuseSlack(const std::vector<OpNumber>& input_grads) {
    // Let every op start as late as possible: outputs that still arrive in time then may all be sent later.
    const auto late = [this](OpNumber op) { return makespan_ - tail_[at(op)]; };
    for (const OpNumber input_grad : input_grads) {
        const NeededOp& op = problem_->op(input_grad);
        const std::int64_t whole = op.time + problem_->op(op.own_next).time + op.arrival;
        if (op.output != kNoNumber && late(input_grad) + whole > late(op.output)) continue;
        fused_[at(input_grad)] = 1;
    }
    for (const OpNumber input_grad : input_grads) {
        const NeededOp& op = problem_->op(input_grad);
        if (fused_[at(input_grad)] != 0) reach_[at(input_grad)] = op.time + problem_->op(op.own_next).time + op.arrival;
    }
    computeAll();
}

void OrderEvaluator::fuse(OpNumber input_grad, bool whole) {
    if ((fused_[at(input_grad)] != 0) == whole) return;
    const NeededOp& op = problem_->op(input_grad);
    const NeededOp& weight_grad = problem_->op(op.own_next);
    fused_[at(input_grad)] = whole ? 1 : 0;
    // The whole backward takes the time of both; then its output leaves.
    reach_[at(input_grad)] = op.time + op.arrival + (whole ? weight_grad.time : 0);
    if (sorted_.empty()) return;
    dirty(late_, op.output);
    dirty(early_, input_grad);
    updateStarts();
    updateTails();
    findMakespan();
}

} // namespace bubblescope
