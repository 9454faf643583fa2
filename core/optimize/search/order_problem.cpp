#include "core/optimize/search/order_problem.h"

#include "core/base/bytes.h"
#include "core/base/field.h"
#include "core/cost/measured_times.h"
#include "core/schedule/stage_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

std::size_t slotOf(OpKind kind) {
    return kind == OpKind::Forward ? 0 : kind == OpKind::BackwardWeight ? 2 : 1;
}

TimeNs timeOf(const CostModel& costs, Rank rank, const Op& op, Stage stage) {
    if (costs.measured != nullptr) {
        if (const auto measured = costs.measured->op(rank, op)) return *measured;
    }
    return costs.opTime(op.kind, stage);
}

/// The copy of the second pipeline's model that a micro-batch passes.
int copyOf(const OrderProblem::Sizes& sizes, Microbatch microbatch) {
    return (microbatch.value - (sizes.microbatches - sizes.second)) / (sizes.second / sizes.second_copies);
}

std::int64_t limitOf(const auto& limits, int rank) {
    return static_cast<std::int64_t>(limits.size() == 1 ? limits.front() : limits[static_cast<std::size_t>(rank)]);
}

} // namespace

Result<OrderProblem> OrderProblem::make(const Sizes& sizes, const CostModel& costs, const MemoryLimits& limits) {
    const std::int64_t stages = std::int64_t{sizes.pp} * sizes.vpp;
    if (!costs.stages.empty() && static_cast<std::int64_t>(costs.stages.size()) != stages) {
        return usageError(
            fmt::format("times are given for {} stages, but the schedule has {}", costs.stages.size(), stages),
            "specify one set of times per stage");
    }
    const auto count = static_cast<std::size_t>(sizes.pp);
    for (const std::size_t given : {limits.activations.size(), limits.bytes.size()}) {
        if (given > 1 && given != count)
            return usageError(fmt::format("memory limits are given for {} ranks, but there are {}", given, count),
                              "specify one limit, or one per rank");
    }
    if (!sizes.after.empty() && sizes.after.size() != count) {
        return usageError(
            fmt::format("times after the last op are given for {} ranks, but there are {}", sizes.after.size(), count),
            "specify one time per rank");
    }
    if (!StageWays::copiesFit(sizes.placement, sizes.pp, sizes.vpp, sizes.second_copies)) {
        return usageError(
            fmt::format("{} copies of a second model do not fit on {} ranks", sizes.second_copies, sizes.pp),
            "specify stage times for a number of stages that divides the number of ranks");
    }
    if (sizes.second % sizes.second_copies != 0) {
        return usageError(fmt::format("{} micro-batches of the second model cannot be divided evenly among {} copies",
                                      sizes.second, sizes.second_copies),
                          "use a multiple of the number of copies");
    }
    OrderProblem problem;
    problem.after_.assign(count, 0);
    for (std::size_t r = 0; r < sizes.after.size(); ++r)
        problem.after_[r] = sizes.after[r].count();
    problem.sizes_ = sizes;
    problem.costs_ = &costs;
    problem.uniform_ = costs.measured == nullptr;
    problem.plain_ = costs.transfers.sends == SendMode::Asynchronous &&
                     costs.transfers.streams == CommStreams::Unlimited && !sizes.pairs;
    problem.addOps();
    problem.link();
    BUBBLESCOPE_TRY(problem.addPairs());
    std::int64_t most = 0;
    for (const NeededOp& op : problem.ops_)
        most = std::max({most, op.time, op.arrival, problem.after(op.rank)});
    if (most > kUnlimited / (2 * std::max(problem.size(), OpNumber{1}))) {
        return usageError(
            fmt::format("{} ops of up to {} are too long for a timeline", problem.size(), formatTime(TimeNs{most})),
            "use shorter times");
    }
    BUBBLESCOPE_TRY(problem.addMemory(limits));
    return problem;
}

OpNumber OrderProblem::find(OpKind kind, Microbatch microbatch, Stage stage) const {
    const auto stages = static_cast<std::size_t>(sizes_.pp * sizes_.vpp);
    return table_[(slotOf(kind) * stages + stage.index()) * static_cast<std::size_t>(sizes_.microbatches) +
                  microbatch.index()];
}

bool OrderProblem::addsUp(OpNumber input_grad) const {
    const NeededOp& first = op(input_grad);
    const Op whole{OpKind::Backward, first.microbatch, first.chunk};
    return timeOf(*costs_, first.rank, whole, first.stage).count() == first.time + op(first.own_next).time;
}

OrderProblem OrderProblem::withTimes(const std::vector<std::int64_t>& times) const {
    OrderProblem other = *this;
    other.uniform_ = false;
    for (std::size_t i = 0; i < times.size(); ++i) {
        NeededOp& op = other.ops_[i];
        op.busy += times[i] - op.time;
        op.time = times[i];
        op.work = op.busy;
    }
    return other;
}

void OrderProblem::addOps() {
    const int stages = sizes_.pp * sizes_.vpp;
    const int apart = routes(sizes_.placement);
    table_.assign(3 * static_cast<std::size_t>(stages) * static_cast<std::size_t>(sizes_.microbatches), kNoNumber);
    const auto add = [&](OpKind kind, int microbatch, int stage) {
        const Location at = locate(sizes_.placement, sizes_.pp, Stage{stage});
        NeededOp op{.kind = kind,
                    .microbatch = Microbatch{microbatch},
                    .stage = Stage{stage},
                    .rank = at.rank,
                    .chunk = at.chunk};
        op.time = timeOf(*costs_, at.rank, {kind, op.microbatch, op.chunk}, op.stage).count();
        op.busy = op.time;
        table_[(slotOf(kind) * static_cast<std::size_t>(stages) + op.stage.index()) *
                   static_cast<std::size_t>(sizes_.microbatches) +
               op.microbatch.index()] = size();
        ops_.push_back(op);
    };
    const int first = sizes_.microbatches - sizes_.second;
    for (int stage = 0; stage < stages; ++stage) {
        for (int microbatch = 0; microbatch < sizes_.microbatches; ++microbatch) {
            const bool second = microbatch >= first;
            if (apart == 2 && second != (stage % 2 == 1)) continue;
            if (second && copyOf(sizes_, Microbatch{microbatch}) != stage / 2 / (sizes_.pp / sizes_.second_copies))
                continue;
            add(OpKind::Forward, microbatch, stage);
            add(sizes_.split ? OpKind::BackwardInput : OpKind::Backward, microbatch, stage);
            if (sizes_.split) add(OpKind::BackwardWeight, microbatch, stage);
        }
    }
}

void OrderProblem::link() {
    const StageWays ways(sizes_.placement, sizes_.pp, sizes_.vpp, sizes_.second_copies);
    for (OpNumber number = 0; number < size(); ++number) {
        NeededOp& op = ops_[static_cast<std::size_t>(number)];
        const bool forward = op.kind == OpKind::Forward;
        if (op.kind == OpKind::BackwardWeight) {
            op.own = find(OpKind::BackwardInput, op.microbatch, op.stage);
        } else {
            if (!forward) op.own = find(OpKind::Forward, op.microbatch, op.stage);
            const auto from = forward ? ways.before(op.stage) : ways.after(op.stage);
            if (from) op.input = find(op.kind, op.microbatch, *from);
        }
        if (op.own != kNoNumber) ops_[static_cast<std::size_t>(op.own)].own_next = number;
        if (op.input == kNoNumber) continue;
        NeededOp& sender = ops_[static_cast<std::size_t>(op.input)];
        sender.output = number;
        if (sender.rank == op.rank) continue;
        const Payload payload = payloadOf(op.kind);
        TimeNs arrival = costs_->transferTime(payload, sender.rank, op.rank);
        if (costs_->measured != nullptr)
            arrival = costs_->measured->transfer(payload, op.microbatch, op.stage, 0).value_or(arrival);
        sender.arrival = arrival.count();
        if (costs_->transfers.on_compute_stream) sender.busy = sender.time + sender.arrival;
    }
}

Status OrderProblem::addPairs() {
    for (NeededOp& op : ops_)
        op.work = op.busy;
    if (!sizes_.pairs) return {};
    if (!costs_->overlapped)
        return usageError("the time of an overlapped pair is missing", fmt::format("specify {}", Field("overlapped")));
    const std::int64_t pair = costs_->overlapped->count();
    // Per rank, the longest forward and gradient: no pair saves more than that.
    std::vector<std::array<std::int64_t, 2>> longest(static_cast<std::size_t>(sizes_.pp), {0, 0});
    for (const NeededOp& op : ops_) {
        if (op.kind == OpKind::BackwardWeight) continue;
        if (op.time > pair) {
            return usageError(fmt::format("an overlapped pair takes {}, but {} on rank {} alone takes {}",
                                          formatTime(TimeNs{pair}), opName({op.kind, op.microbatch, op.chunk}),
                                          op.rank.value, formatTime(TimeNs{op.time})),
                              "use a time at least as long as either half");
        }
        std::int64_t& most = longest[op.rank.index()][op.kind == OpKind::Forward ? 0 : 1];
        most = std::max(most, op.time);
    }
    for (NeededOp& op : ops_) {
        if (op.kind != OpKind::Forward) continue;
        const auto& [forward, gradient] = longest[op.rank.index()];
        op.work = std::max<std::int64_t>(0, op.busy - std::max<std::int64_t>(0, forward + gradient - pair));
    }
    return {};
}

Status OrderProblem::addMemory(const MemoryLimits& limits) {
    capacity_.assign(static_cast<std::size_t>(sizes_.pp), kUnlimited);
    const bool bytes = limits.model.has_value() && !limits.bytes.empty();
    bytes_ = bytes;
    limited_ = bytes || !limits.activations.empty();
    if (bytes && !limits.activations.empty())
        return usageError("the memory is limited both in activations and in bytes", "specify one of the two");
    if (!limited_) return {};
    const auto least = [&](int rank) { // memory of a micro-batch that has passed all chunks of the rank
        std::int64_t sum = 0;
        std::int64_t workspace = 0;
        for (int chunk = 0; chunk < sizes_.vpp; ++chunk) {
            const Stage stage = stageOf(sizes_.placement, sizes_.pp, Rank{rank}, Chunk{chunk});
            for (int m = 0; m < sizes_.microbatches; ++m) {
                const OpNumber forward = find(OpKind::Forward, Microbatch{m}, stage);
                if (forward == kNoNumber) continue;
                sum += op(forward).takes;
                workspace = std::max({workspace, op(forward).workspace, op(op(forward).own_next).workspace});
                break;
            }
        }
        return sum + workspace;
    };
    for (NeededOp& op : ops_) {
        if (!bytes) {
            op.takes = op.kind == OpKind::Forward ? 1 : 0;
            op.frees = op.kind == OpKind::Backward || op.kind == OpKind::BackwardWeight ? 1 : 0;
            continue;
        }
        const StageMemory& stage = limits.model->stages[op.stage.index()];
        op.workspace = op.kind == OpKind::Forward ? stage.forward_workspace : stage.backward_workspace;
        switch (op.kind) {
        case OpKind::Forward: op.takes = stage.activations.forward; break;
        case OpKind::Backward: op.frees = stage.activations.forward; break;
        case OpKind::BackwardInput: op.frees = stage.activations.forward - stage.activations.weight_grad; break;
        case OpKind::BackwardWeight: op.frees = stage.activations.weight_grad; break;
        case OpKind::Optimizer: break;
        }
    }
    for (int r = 0; r < sizes_.pp; ++r) {
        std::int64_t& capacity = capacity_[Rank{r}.index()];
        if (!bytes) {
            capacity = limitOf(limits.activations, r);
            if (capacity >= least(r)) continue;
            return inputError(
                fmt::format("rank {}", r),
                fmt::format("no order fits into {} activations: a micro-batch that has passed its chunks holds {}",
                            capacity, least(r)),
                "allow more activations, or use fewer chunks per rank");
        }
        std::int64_t fixed = 0;
        for (int chunk = 0; chunk < sizes_.vpp; ++chunk)
            fixed += limits.model->stages[stageOf(sizes_.placement, sizes_.pp, Rank{r}, Chunk{chunk}).index()].fixed();
        const std::int64_t limit = limitOf(limits.bytes, r);
        capacity = limit - fixed;
        if (capacity >= least(r)) continue;
        return inputError(fmt::format("rank {}", r),
                          fmt::format("no order fits into {}: weights, gradients and optimizer take {}, and a "
                                      "micro-batch that has passed all chunks takes {} more",
                                      formatBytes(limit), formatBytes(fixed), formatBytes(least(r))),
                          "allow more memory, or give the rank fewer layers");
    }
    return {};
}

TimeNs stepLength(const OrderProblem& problem, const StepTimeline& step) {
    TimeNs end = step.end;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r])
            if (op.op.kind != OpKind::Optimizer) end = std::max(end, op.end + TimeNs{problem.after(Rank{r})});
    }
    return end - step.begin;
}

Schedule scheduleOf(const OrderProblem& problem, const RankOrders& orders, const std::vector<char>& fused) {
    const auto& sizes = problem.sizes();
    Schedule schedule;
    schedule.name = "custom";
    schedule.pp = sizes.pp;
    schedule.microbatches = sizes.microbatches;
    schedule.vpp = sizes.vpp;
    schedule.placement = sizes.placement;
    for (const auto& order : orders) {
        auto& ops = schedule.ranks.emplace_back();
        for (std::size_t i = 0; i < order.size(); ++i) {
            const NeededOp& op = problem.op(order[i]);
            const bool whole = !fused.empty() && fused[static_cast<std::size_t>(order[i])] != 0;
            ops.push_back({whole ? OpKind::Backward : op.kind, op.microbatch, op.chunk});
            if (whole) ++i; // its weight gradient
        }
    }
    return schedule;
}

void pairNeighbours(Schedule& schedule) {
    for (auto& ops : schedule.ranks) {
        for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
            const auto is = [&](std::size_t at, bool forward) {
                return forward ? ops[at].kind == OpKind::Forward : producesInputGradient(ops[at].kind);
            };
            const bool fit = (is(i, true) && is(i + 1, false)) || (is(i, false) && is(i + 1, true));
            if (!fit || ops[i].microbatch == ops[i + 1].microbatch) continue;
            ops[i].overlapped = ops[i + 1].overlapped = true;
            ++i;
        }
    }
}

std::optional<RankOrders> ordersOf(const OrderProblem& problem, const Schedule& schedule) {
    const auto& sizes = problem.sizes();
    if (schedule.pp != sizes.pp || schedule.vpp != sizes.vpp || schedule.microbatches != sizes.microbatches ||
        schedule.placement != sizes.placement)
        return std::nullopt;
    RankOrders orders;
    std::size_t count = 0;
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
        auto& order = orders.emplace_back();
        for (const Op& op : schedule.ranks[r]) {
            if (op.kind == OpKind::Optimizer) continue;
            if (op.sequence > 0) return std::nullopt;
            const bool halves = op.kind == OpKind::BackwardInput || op.kind == OpKind::BackwardWeight;
            if (halves && !sizes.split) return std::nullopt;
            const Stage stage = schedule.stageOf(Rank{r}, op.chunk);
            const OpNumber number = problem.find(op.kind, op.microbatch, stage);
            if (number == kNoNumber) return std::nullopt;
            order.push_back(number);
            if (op.kind == OpKind::Backward && sizes.split) order.push_back(problem.op(number).own_next);
        }
        count += order.size();
    }
    return count == static_cast<std::size_t>(problem.size()) ? std::optional(std::move(orders)) : std::nullopt;
}

bool fitsMemory(const OrderProblem& problem, const RankOrders& orders) {
    if (!problem.limited()) return true;
    for (std::size_t r = 0; r < orders.size(); ++r) {
        std::int64_t held = 0;
        for (const OpNumber number : orders[r]) {
            const NeededOp& op = problem.op(number);
            held += op.takes;
            if (held + op.workspace > problem.capacity(Rank{r})) return false;
            held -= op.frees;
        }
    }
    return true;
}

} // namespace bubblescope
