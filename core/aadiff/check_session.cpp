#include "core/aadiff/check_session.h"

#include "core/aadiff/mismatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

constexpr int kStepsToLearn = 2; ///< the first step includes warm-up
constexpr std::size_t kBubblesToTrust = 2;
constexpr std::size_t kRememberedChecks = 8;
constexpr int kStepsToForget = 8; ///< without a check of its kind, until a single measured cost is forgotten

/// The lower quartile: on a busy machine, half of a step's ops may take several times as long as their computation, and
/// the plan made of them stays.
TimeNs typicalTime(std::vector<TimeNs> times) {
    const auto quartile = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
    std::ranges::nth_element(times, quartile);
    return std::max(*quartile, TimeNs{1});
}

std::size_t stagesOf(const Schedule& schedule) {
    return schedule.ranks.size() * static_cast<std::size_t>(schedule.vpp);
}

/// Ignores attributes that only matter for scheduling.
bool isSameOp(const Op& a, const Op& b) {
    return std::tie(a.kind, a.microbatch, a.chunk, a.sequence) == std::tie(b.kind, b.microbatch, b.chunk, b.sequence);
}

} // namespace

Result<CheckSession> CheckSession::make(Config config) {
    const auto within = [](int value, int limit, std::string_view what) -> Status {
        if (value >= 0 && value < limit) return {};
        return usageError(fmt::format("there is no {} {}", what, value), fmt::format("there are {}", limit));
    };
    BUBBLESCOPE_TRY(within(config.place.rank.value, config.schedule.pp, "rank"));
    BUBBLESCOPE_TRY(within(config.place.replica, config.replicas, "replica"));
    BUBBLESCOPE_TRY(within(config.place.tensor_rank, config.tensor_ranks, "tensor rank"));
    constexpr int kMaxLayers = 4096;
    for (const int layers : config.layers)
        if (layers < 1 || layers > kMaxLayers)
            return usageError(fmt::format("a stage cannot have {} layers", layers), "use 1 to 4096");
    const auto chunks = static_cast<std::size_t>(config.schedule.vpp);
    if (config.layers.size() != chunks || (!config.kept.empty() && config.kept.size() != chunks))
        return usageError(
            fmt::format("layers are given for {} chunks, but the schedule has {}", config.layers.size(), chunks));
    if (!(config.margin >= 0) || config.latency < TimeNs{0})
        return usageError("margin and latency must not be negative");
    CheckSession session(std::move(config));
    if (session.config_.times) BUBBLESCOPE_TRY(session.makePlan(*session.config_.times));
    return session;
}

Status CheckSession::makePlan(const OpTimes& times) {
    CostModel costs;
    costs.times = times;
    // Layers of other ranks do not change this rank's plan.
    PlanLimits limits;
    limits.layers.assign(stagesOf(schedule()), config_.layers.front());
    if (!config_.kept.empty()) limits.kept_bytes.assign(stagesOf(schedule()), 0);
    for (int chunk = 0; chunk < schedule().vpp; ++chunk) {
        const std::size_t stage = stageOf(Chunk{chunk}).index();
        limits.layers[stage] = layersOf(Chunk{chunk});
        if (!config_.kept.empty()) limits.kept_bytes[stage] = config_.kept[static_cast<std::size_t>(chunk)];
    }
    if (config_.room) limits.spare_bytes.assign(schedule().ranks.size(), *config_.room);
    limits.kinds = config_.kinds;
    for (const auto& [stage, layer, kind] : left_out_)
        if (isLeftOut(stage, layer)) limits.left_out.insert({stage, layer});
    limits.margin = config_.margin;
    limits.latency = config_.latency;
    BUBBLESCOPE_ASSIGN(AadiffStudy study, studyAadiff(schedule(), costs, limits));
    plan_ = std::move(study.as_executed.ranks[place().rank.index()]);
    for (const CheckUnit& unit : plan_->units)
        if (!left_out_.contains({stageOf(unit.chunk), unit.layer, unit.kind}))
            covered_[{unit.chunk, unit.kind, unit.layer}] = false;
    counts_.units = static_cast<int>(covered_.size());
    return {};
}

bool CheckSession::isLeftOut(Stage stage, int layer) const {
    const std::vector<OpKind> all{OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight};
    return std::ranges::all_of(config_.kinds.empty() ? all : config_.kinds, [&](OpKind kind) {
        return left_out_.contains({stage, layer, kind});
    });
}

Status CheckSession::leaveOut(Chunk chunk, int layer, std::span<const OpKind> kinds) {
    if (plan_) return usageError("layers can only be excluded before the checks are planned");
    if (chunk.value < 0 || chunk.value >= schedule().vpp || layer < 0 || layer >= layersOf(chunk))
        return usageError(fmt::format("chunk {} has no layer {}", chunk.value, layer));
    for (const OpKind kind : kinds)
        left_out_.insert({stageOf(chunk), layer, kind});
    return {};
}

Status CheckSession::beginStep(int step) {
    if (in_step_) return usageError(fmt::format("step {} has not ended yet", step_.number));
    if (step < 0) return usageError(fmt::format("there is no step {}", step));
    in_step_ = true;
    in_order_ = true;
    step_.number = step;
    step_.ops.clear();
    first_.clear();
    mismatch_.reset();
    last_end_ = TimeNs{0};
    planStep();
    return {};
}

void CheckSession::planStep() {
    checks_.clear();
    if (!plan_) return;
    for (const PlannedCheck& check : plan_->checksOf(steps_planned_++)) {
        const CheckUnit& unit = plan_->units[check.unit];
        if (!covered_.contains({unit.chunk, unit.kind, unit.layer})) continue; // excluded by leaveOut()
        LayerOp what{order()[check.op], unit.layer};
        what.op.overlapped = false; // callers do not mark the halves of pairs
        checks_.push_back({what, State::Waiting});
    }
    // If checks take longer than planned, only the first ones fit. With a fixed order, the others would never run.
    std::map<Unit, int> times;
    std::map<LayerOp, std::pair<int, std::int64_t>> turns;
    for (const StepCheck& check : checks_) {
        const Unit unit = unitOf(check.what);
        const auto last = turns_.find(unit);
        turns[check.what] = {times[unit]++, last == turns_.end() ? 0 : last->second};
    }
    std::ranges::stable_sort(checks_, {}, [&](const StepCheck& check) { return turns.at(check.what); });
    counts_.planned += static_cast<std::int64_t>(checks_.size());
}

Status CheckSession::ran(const Op& op, TimeNs start, TimeNs end) {
    if (!in_step_) return usageError("an op was reported outside a step");
    if (end < start) return usageError(fmt::format("{} ends before it starts", opName(op)));
    const std::size_t next = step_.ops.size();
    Op known = op;
    if (op.kind != OpKind::Optimizer) {
        in_order_ = in_order_ && next < order().size() && isSameOp(order()[next], op);
        if (in_order_) known.overlapped = order()[next].overlapped;
    }
    step_.ops.push_back({known, start, end});
    last_end_ = end;
    return {};
}

Status CheckSession::known(const LayerOp& what) const {
    if (!in_step_) return usageError("a layer was reported outside a step");
    const Op& op = what.op;
    const bool exists = op.microbatch.value >= 0 && op.microbatch.value < schedule().microbatches &&
                        op.chunk.value >= 0 && op.chunk.value < schedule().vpp && op.sequence >= 0 && what.layer >= 0 &&
                        what.layer < layersOf(op.chunk);
    if (exists) return {};
    return usageError(fmt::format("{} has no layer {}", opName(op), what.layer),
                      fmt::format("micro-batches are 0 to {}, chunks 0 to {}, layers of a stage 0 to {}",
                                  schedule().microbatches - 1, schedule().vpp - 1, layersOf(op.chunk) - 1));
}

int CheckSession::layersOf(Chunk chunk) const {
    const auto index = static_cast<std::size_t>(std::max(chunk.value, 0));
    return config_.layers[std::min(index, config_.layers.size() - 1)];
}

int CheckSession::layerOf(const LayerOp& what) const {
    const int below = config_.layers_of_model ? stageOf(what.op.chunk).value * layersOf(what.op.chunk) : 0;
    return below + what.layer;
}

Result<bool> CheckSession::wanted(const LayerOp& what) const {
    BUBBLESCOPE_TRY(known(what));
    return std::ranges::any_of(
        checks_, [&](const StepCheck& check) { return check.what == what && check.state != State::Over; });
}

std::vector<LayerOp> CheckSession::planned() const {
    std::vector<LayerOp> all;
    for (const StepCheck& check : checks_)
        all.push_back(check.what);
    return all;
}

Result<std::size_t> CheckSession::pending(const LayerOp& what) const {
    const auto found = std::ranges::find_if(
        checks_, [&](const StepCheck& check) { return check.what == what && check.state == State::Waiting; });
    if (found == checks_.end())
        return usageError(fmt::format("no check of layer {} of {} is pending", what.layer, opName(what.op)));
    return static_cast<std::size_t>(found - checks_.begin());
}

Status CheckSession::withdraw(const LayerOp& what) {
    BUBBLESCOPE_ASSIGN(const std::size_t index, pending(what));
    checks_.erase(checks_.begin() + static_cast<std::ptrdiff_t>(index));
    --counts_.planned;
    return {};
}

Status CheckSession::move(const LayerOp& what, Microbatch to) {
    BUBBLESCOPE_ASSIGN(const std::size_t index, pending(what));
    LayerOp moved = what;
    moved.op.microbatch = to;
    BUBBLESCOPE_TRY(known(moved));
    if (find(moved) != nullptr)
        return usageError(fmt::format("a check of layer {} of {} is planned already", moved.layer, opName(moved.op)));
    checks_[index].what = moved;
    return {};
}

Status CheckSession::computed(const LayerOp& what, std::string_view tensor, std::uint64_t digest, TimeNs now) {
    BUBBLESCOPE_TRY(known(what));
    if (tensor.empty()) return usageError("a digest needs the name of its tensor");
    first_[{what, std::string(tensor)}] = digest;
    if (!config_.records_digests) return {};
    step_.digests.push_back({step_.number, place().rank, place().replica, place().tensor_rank, what.op, layerOf(what),
                             std::string(tensor), digest, now});
    return {};
}

TimeNs CheckSession::predicted(std::size_t next) const {
    if (const std::optional<TimeNs> shortest = bubbles_.shortest(next, kBubblesToTrust))
        return BubbleForecast::usable(*shortest);
    const auto slot = std::ranges::find(plan_->slots, next, &Slot::next_op);
    return slot == plan_->slots.end() ? TimeNs{0} : slot->duration();
}

TimeNs CheckSession::costOf(const LayerOp& what) const {
    const auto seen = costs_.find({what.op.chunk, what.op.kind});
    if (seen != costs_.end() && !seen->second.empty()) return std::ranges::max(seen->second);
    TimeNs cost{0};
    for (const CheckUnit& unit : plan_->units) {
        if (unit.chunk != what.op.chunk || unit.layer != what.layer) continue;
        const bool before = config_.forward_again && unit.kind == OpKind::Forward;
        if (unit.kind == what.op.kind || before) cost += unit.cost;
    }
    return cost;
}

bool CheckSession::hasFirst(const LayerOp& what) const {
    const auto first = first_.lower_bound({what, std::string()});
    return first != first_.end() && first->first.first == what;
}

Result<std::optional<CheckTask>> CheckSession::ask(TimeNs now, std::optional<TimeNs> free) {
    if (!in_step_) return usageError("checks were requested outside a step");
    if (!plan_ || !in_order_ || step_.ops.empty()) return std::optional<CheckTask>();
    const std::size_t next = step_.ops.size();
    // After the last op, the bubble lasts until the slowest rank has finished, which only the plan can predict.
    const TimeNs rest = free ? *free : predicted(std::min(next, order().size())) - (now - last_end_);
    for (StepCheck& check : checks_) {
        // Without a digest of the first execution, there is nothing to compare.
        if (check.state != State::Waiting || !hasFirst(check.what)) continue;
        const TimeNs cost = costOf(check.what);
        if (timeNeeded(cost, config_.margin, config_.latency) > rest) continue;
        check.state = State::Asked;
        turns_[unitOf(check.what)] = ++turn_;
        return std::optional(CheckTask{check.what, cost, rest});
    }
    return std::optional<CheckTask>();
}

CheckSession::StepCheck* CheckSession::find(const LayerOp& what) {
    const auto found = std::ranges::find(checks_, what, &StepCheck::what);
    return found == checks_.end() ? nullptr : &*found;
}

CheckRecord CheckSession::recordOf(const LayerOp& what, CheckOutcome outcome, TimeNs start, TimeNs end) const {
    CheckRecord record;
    record.outcome = outcome;
    record.step = step_.number;
    record.rank = place().rank;
    record.replica = place().replica;
    record.tensor_rank = place().tensor_rank;
    record.op = what.op;
    record.layer = layerOf(what);
    record.tensor = tensorName(CheckedTensor::Output);
    record.start = start;
    record.end = end;
    return record;
}

void CheckSession::cover(const LayerOp& what) {
    const auto unit = covered_.find(unitOf(what));
    if (unit == covered_.end() || unit->second) return;
    unit->second = true;
    ++counts_.covered;
}

Result<CheckOutcome> CheckSession::checked(const LayerOp& what, std::string_view tensor, std::uint64_t digest,
                                           TimeNs start, TimeNs end) {
    BUBBLESCOPE_TRY(known(what));
    const auto first = first_.find({what, std::string(tensor)});
    if (first == first_.end()) {
        return usageError(fmt::format("'{}' of {}, layer {}, was not reported when it was first computed", tensor,
                                      opName(what.op), what.layer),
                          "report the first digest of every tensor that is compared");
    }
    if (end < start) return usageError("a check ends before it starts");
    CheckRecord record = recordOf(what, CheckOutcome::Equal, start, end);
    record.tensor = tensor;
    setOutcome(record, first->second, digest);
    // All tensors of one execution belong to one check.
    if (StepCheck* const check = find(what)) check->state = State::Over;
    counts_.checks.add(record.outcome);
    if (record.outcome == CheckOutcome::Mismatch) mismatch_ = step_.checks.size();
    cover(what);
    std::deque<TimeNs>& costs = costs_[{what.op.chunk, what.op.kind}];
    costs.push_back(end - start);
    if (costs.size() > kRememberedChecks) costs.pop_front();
    step_.checks.push_back(std::move(record));
    return step_.checks.back().outcome;
}

Status CheckSession::givenUp(const LayerOp& what, TimeNs start, TimeNs end) {
    BUBBLESCOPE_TRY(known(what));
    StepCheck* const check = find(what);
    if (check == nullptr || check->state != State::Asked)
        return usageError(fmt::format("layer {} of {} was not requested", what.layer, opName(what.op)));
    check->state = State::Over;
    counts_.checks.add(CheckOutcome::Aborted);
    step_.checks.push_back(recordOf(what, CheckOutcome::Aborted, start, std::max(start, end)));
    return {};
}

Status CheckSession::setDifference(const TensorDifference& difference) {
    if (!mismatch_) return usageError("this step has no mismatch");
    step_.checks[*mismatch_].difference = difference;
    return {};
}

Result<Verdict> CheckSession::repeated(std::span<const std::uint64_t> here, std::span<const std::uint64_t> there) {
    if (!mismatch_) return usageError("this step has no mismatch");
    if (here.size() < 2 || there.size() == 1)
        return usageError("a single execution cannot be compared with another",
                          "repeat it at least twice on each rank");
    CheckRecord& record = step_.checks[*mismatch_];
    record.verdict = verdictOf(record.first, record.second, here, there);
    return record.verdict;
}

void CheckSession::learnTimes() {
    if (!in_order_) return;
    ++steps_in_order_;
    for (std::size_t i = 0; i < step_.ops.size(); ++i)
        bubbles_.add(i, i == 0 ? TimeNs{0} : step_.ops[i].start - step_.ops[i - 1].end);
    if (plan_ || steps_in_order_ < kStepsToLearn) return;
    for (const TimelineOp& op : step_.ops)
        op_times_[op.op.kind].push_back(op.duration());
}

void CheckSession::skipRest() {
    std::set<std::tuple<Chunk, OpKind>> fitted;
    for (const StepCheck& check : checks_)
        if (check.state != State::Waiting) fitted.insert({check.what.op.chunk, check.what.op.kind});
    for (const StepCheck& check : checks_) {
        if (check.state == State::Over) continue;
        counts_.checks.add(CheckOutcome::Skipped);
        step_.checks.push_back(recordOf(check.what, CheckOutcome::Skipped, last_end_, last_end_));
    }
    // A check that was slow only because the machine was busy must not exclude all later checks of its kind. If even
    // the fastest one does not fit for a while, the planned cost counts again.
    for (auto& [key, costs] : costs_) {
        int& unfit = unfit_[key];
        unfit = fitted.contains(key) ? 0 : unfit + 1;
        const bool forgets = unfit > 0 && (costs.size() > 1 || unfit % kStepsToForget == 0);
        if (forgets && !costs.empty()) costs.erase(std::ranges::max_element(costs));
    }
}

Status CheckSession::makePlanOfMeasured() {
    const auto typical = [&](OpKind kind) -> std::optional<TimeNs> {
        const auto found = op_times_.find(kind);
        return found == op_times_.end() ? std::optional<TimeNs>() : typicalTime(found->second);
    };
    const TimeNs forward = typical(OpKind::Forward).value_or(TimeNs{1});
    const auto input = typical(OpKind::BackwardInput);
    const auto weight = typical(OpKind::BackwardWeight);
    const auto whole = typical(OpKind::Backward);
    BUBBLESCOPE_ASSIGN(const OpTimes times,
                       whole ? makeOpTimes(forward, whole, {}, {})
                             : makeOpTimes(forward, {}, input.value_or(forward), weight.value_or(forward)));
    return makePlan(times);
}

Result<CheckedStep> CheckSession::endStep() {
    if (!in_step_) return usageError("no step has begun");
    skipRest();
    in_step_ = false;
    learnTimes();
    if (!plan_ && !op_times_.empty()) BUBBLESCOPE_TRY(makePlanOfMeasured());
    mismatch_.reset();
    return std::exchange(step_, {.number = step_.number, .ops = {}, .checks = {}, .digests = {}});
}

} // namespace bubblescope
