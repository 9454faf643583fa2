#include "runtime/checks/rank_checker.h"

#include "core/aadiff/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr std::size_t kLastEnds = 8;    ///< of a slot that are looked at
constexpr std::size_t kEndsToTrust = 3; ///< where there is no plan in the host's time

} // namespace

RankChecker::RankChecker(CheckSetup* setup, const RankFaults& faults, const Schedule& schedule, const CostModel& times,
                         const Place& place, profiler::RecordRing* ring, const std::atomic<bool>& ended)
    : setup_(setup), faults_(faults), schedule_(schedule), times_(times), place_(place), ring_(ring), ended_(ended) {
    if (setup_ != nullptr) placePlan();
}

RankChecker::~RankChecker() = default;

void RankChecker::placePlan() {
    const StepTimeline& step = setup_->study.timeline();
    const auto& timeline = step.ranks[place_.mesh.rank.index()];
    const auto& list = schedule_.ranks[place_.mesh.rank.index()];
    const auto placeOf = [&](std::size_t op) {
        while (op < timeline.size() && timeline[op].op.kind == OpKind::Optimizer)
            ++op;
        const auto found = op < timeline.size() ? std::ranges::find(list, timeline[op].op) : list.end();
        return static_cast<std::size_t>(found - list.begin());
    };
    for (const Slot& slot : setup_->study.plan().ranks[place_.mesh.rank.index()].slots)
        slots_.push_back({placeOf(slot.next_op), slot.end, {}});
    if (!setup_->holds) return;
    holds_.resize(list.size());
    for (std::size_t op = 0; op < timeline.size(); ++op) {
        if (timeline[op].op.kind != OpKind::Optimizer) holds_[placeOf(op)] = timeline[op].start - step.begin;
    }
}

void RankChecker::watch(std::vector<std::pair<Stage, StageModel*>> stages) {
    stages_ = std::move(stages);
    if (setup_ != nullptr) weightsWritten();
}

void RankChecker::useDevice(RankDevice& device) {
    device_ = &device;
}

void RankChecker::beginStep(int step, TimeNs begin) {
    step_ = step;
    begin_ = begin;
    wanted_.clear();
    kept_.clear();
    kept_bytes_ = 0;
    checked_.clear();
    if (!checks()) return;
    const RankPlan& plan = setup_->study.plan().ranks[place_.mesh.rank.index()];
    const std::span<const PlannedCheck> checks = planned();
    const auto& timeline = setup_->study.timeline().ranks[place_.mesh.rank.index()];
    for (std::size_t i = 0; i < checks.size(); ++i) {
        const CheckUnit& unit = plan.units[checks[i].unit];
        const int layer = setup_->layersOf(schedule_.stageOf(place_.mesh.rank, unit.chunk)).first + unit.layer;
        wanted_.insert({{keyOf(timeline[checks[i].op].op), layer}, i});
    }
}

std::span<const PlannedCheck> RankChecker::planned() const {
    const RankPlan& plan = setup_->study.plan().ranks[place_.mesh.rank.index()];
    if (plan.steps.empty()) return {};
    return plan.steps[static_cast<std::size_t>(step_ / setup_->options.every) % plan.steps.size()];
}

std::optional<TimeNs> RankChecker::heldUntil(std::size_t index) const {
    const std::optional<TimeNs> held = heldSinceStep(index);
    return held ? std::optional(begin_ + *held) : std::nullopt;
}

std::optional<TimeNs> RankChecker::heldSinceStep(std::size_t index) const {
    return index < holds_.size() ? holds_[index] : std::nullopt;
}

std::uint64_t RankChecker::variantOf(std::span<const Op> ops) const {
    if (!checks()) return 0;
    std::uint64_t variant = 1;
    for (const Op& op : ops) {
        const auto [first, last] = std::pair(wanted_.lower_bound({keyOf(op), 0}), wanted_.end());
        for (auto at = first; at != last && at->first.first == keyOf(op); ++at)
            variant = digest::mix(variant + static_cast<std::uint64_t>(at->first.second));
    }
    return variant;
}

bool RankChecker::hasSlot(std::size_t index) const {
    return std::ranges::any_of(slots_, [&](const PlacedSlot& slot) { return slot.before == index; });
}

void RankChecker::ended(std::size_t index, TimeNs ready) {
    for (PlacedSlot& slot : slots_) {
        if (slot.before != index) continue;
        slot.seen.push_back(ready - begin_);
        if (slot.seen.size() > kLastEnds) slot.seen.pop_front();
    }
}

std::optional<TimeNs> RankChecker::predictedEnd(const PlacedSlot& slot) const {
    // The shortest of the last few, not their mean: a check that comes too late delays everybody. The plan's own time
    // counts where ops keep to it.
    const bool seen = slot.seen.size() >= (emulated_ ? 1 : kEndsToTrust);
    if (seen) return begin_ + *std::ranges::min_element(slot.seen);
    if (emulated_) return begin_ + slot.end;
    return std::nullopt;
}

CheckRecord RankChecker::recordOf(CheckKind kind, const Op& op, int layer, CheckedTensor tensor) const {
    CheckRecord record;
    record.kind = kind;
    record.step = step_;
    record.rank = place_.mesh.rank;
    record.replica = place_.mesh.replica;
    record.tensor_rank = place_.mesh.tensor;
    record.op = op;
    record.layer = layer;
    record.tensor = tensorName(tensor);
    return record;
}

void RankChecker::tell(CheckRecord record, CheckedTensor tensor, Stage stage) {
    push(profiler::SliceRecord::of(record, tensor, stage));
}

void RankChecker::note(CheckRecord record, Rank world) {
    const MeshPlace place = place_.run.placeOf(world);
    record.rank = place.rank;
    record.replica = place.replica;
    record.tensor_rank = place.tensor;
    if (!setup_->board->tell(world, record) && setup_->write) setup_->write(world, record);
    if (setup_->options.on_mismatch) setup_->options.on_mismatch(record);
}

void RankChecker::tellMismatch(const CheckRecord& record, Rank world) {
    note(record, world);
    if (!setup_->options.stop) return;
    throw std::runtime_error(fmt::format("{} of {}, layer {}, differs between two executions ({})", record.tensor,
                                         opName(record.op), record.layer, verdictName(record.verdict)));
}

void RankChecker::whenKnown(const Op& op, TimeNs now, std::function<void(TimeNs)> then) {
    if (device_ == nullptr) return then(now);
    late_.push_back({op, std::move(then)});
}

void RankChecker::settle(std::span<const DoneOp> done, SlotClock& clock) {
    for (const Late& late : std::exchange(late_, {})) {
        const auto found = std::ranges::find(done, late.op, &DoneOp::op);
        late.then(found == done.end() ? begin_ : found->begin);
    }
    for (const Kept& kept : std::exchange(to_try_, {}))
        tryTwice(kept, &clock);
}

void RankChecker::push(const profiler::SliceRecord& record) {
    if (ring_ != nullptr) ring_->push(record);
}

} // namespace bubblescope::runtime
