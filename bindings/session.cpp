#include "bindings/session.h"

#include "core/base/median.h"
#include "core/formats/perfetto/native_events.h"
#include "core/schedule/families/registry.h"
#include "core/schedule/schedule_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bubblescope::bindings {
namespace {

constexpr std::size_t kRememberedSteps = 8;
constexpr int kStepsToLearn = 2; ///< the first includes warm-up
constexpr std::size_t kRememberedChecks = 8;

std::size_t stagesOf(const Schedule& schedule) {
    return schedule.ranks.size() * static_cast<std::size_t>(schedule.vpp);
}

bool allEqual(std::span<const std::uint64_t> digests) {
    return std::ranges::all_of(digests, [&](std::uint64_t digest) { return digest == digests.front(); });
}

} // namespace

Session::Session(SessionConfig config, Schedule schedule)
    : config_(std::move(config)), schedule_(std::move(schedule)) {}

Result<Session> Session::open(SessionConfig config) {
    const auto within = [](int value, int limit, std::string_view what) -> Status {
        if (value >= 0 && value < limit) return {};
        return usageError(fmt::format("there is no {} {}", what, value), fmt::format("there are {}", limit));
    };
    BUBBLESCOPE_ASSIGN(Schedule schedule, config.order.empty()
                                              ? makeSchedule(config.schedule)
                                              : scheduleFromCsv(config.order, "the order of the schedule"));
    BUBBLESCOPE_TRY(within(config.rank.value, schedule.pp, "rank"));
    BUBBLESCOPE_TRY(within(config.replica, config.dp, "replica"));
    BUBBLESCOPE_TRY(within(config.tensor_rank, config.tp, "tensor rank"));
    constexpr int kMaxLayers = 4096;
    for (const int layers : config.layers)
        if (layers < 1 || layers > kMaxLayers)
            return usageError(fmt::format("a stage cannot have {} layers", layers), "1 to 4096 are possible");
    const auto chunks = static_cast<std::size_t>(schedule.vpp);
    if (config.layers.size() != chunks || (!config.kept.empty() && config.kept.size() != chunks))
        return usageError(
            fmt::format("layers are given for {} chunks, the schedule has {}", config.layers.size(), chunks));
    if (!(config.margin >= 0) || config.latency < TimeNs{0})
        return usageError("margin and latency must not be negative");

    Session session(std::move(config), std::move(schedule));
    const SessionConfig& given = session.config_;
    if (!given.directory.empty()) {
        std::error_code failed;
        std::filesystem::create_directories(given.directory, failed);
        if (failed) return runError(fmt::format("{} cannot be made: {}", given.directory.string(), failed.message()));
        RunInfo info = RunInfo::of("embedded", session.schedule_);
        info.dp = given.dp;
        info.tp = given.tp;
        const Rank world{(given.rank.value * given.dp + given.replica) * given.tp + given.tensor_rank};
        ProcessInfo host = thisProcess();
        host.device = given.device;
        BUBBLESCOPE_ASSIGN(profiler::TraceSegmentWriter writer,
                           profiler::TraceSegmentWriter::create(given.directory, info, world, readClocks(), host));
        session.writer_ = std::move(writer);
    }
    if (given.times) BUBBLESCOPE_TRY(session.makePlan(*given.times));
    return session;
}

Status Session::makePlan(const OpTimes& times) {
    CostModel costs;
    costs.times = times;
    // The other ranks' layers do not change this rank's plan.
    PlanLimits limits;
    limits.layers.assign(stagesOf(schedule_), config_.layers.front());
    if (!config_.kept.empty()) limits.kept_bytes.assign(stagesOf(schedule_), 0);
    for (int chunk = 0; chunk < schedule_.vpp; ++chunk) {
        const std::size_t stage = stageOf(Chunk{chunk}).index();
        limits.layers[stage] = layersOf(Chunk{chunk});
        if (!config_.kept.empty()) limits.kept_bytes[stage] = config_.kept[static_cast<std::size_t>(chunk)];
    }
    if (config_.room) limits.spare_bytes.assign(schedule_.ranks.size(), *config_.room);
    limits.kinds = config_.kinds;
    for (const auto& [stage, layer, kind] : left_out_)
        if (isLeftOut(stage, layer)) limits.left_out.insert({stage, layer});
    limits.margin = config_.margin;
    limits.latency = config_.latency;
    BUBBLESCOPE_ASSIGN(AadiffStudy study, studyAadiff(schedule_, costs, limits));
    plan_ = std::move(study.as_executed.ranks[config_.rank.index()]);
    for (const CheckUnit& unit : plan_->units)
        if (!left_out_.contains({stageOf(unit.chunk), unit.layer, unit.kind}))
            covered_[{unit.chunk, unit.kind, unit.layer}] = false;
    counts_.units = static_cast<int>(covered_.size());
    return {};
}

bool Session::isLeftOut(Stage stage, int layer) const {
    const std::vector<OpKind> all{OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight};
    return std::ranges::all_of(config_.kinds.empty() ? all : config_.kinds, [&](OpKind kind) {
        return left_out_.contains({stage, layer, kind});
    });
}

Status Session::leaveOut(Chunk chunk, int layer, std::span<const OpKind> kinds) {
    if (plan_) return usageError("layers are left out before the checks are planned");
    if (chunk.value < 0 || chunk.value >= schedule_.vpp || layer < 0 || layer >= layersOf(chunk))
        return usageError(fmt::format("there is no layer {} of chunk {}", layer, chunk.value));
    for (const OpKind kind : kinds)
        left_out_.insert({stageOf(chunk), layer, kind});
    return {};
}

Status Session::beginStep(int step) {
    if (in_step_) return usageError(fmt::format("step {} has not ended yet", step_));
    if (step < 0) return usageError(fmt::format("there is no step {}", step));
    in_step_ = true;
    step_ = step;
    in_order_ = true;
    ops_.clear();
    first_.clear();
    mismatch_.reset();
    last_end_ = TimeNs{0};
    planStep();
    return {};
}

void Session::planStep() {
    checks_.clear();
    if (!plan_ || plan_->steps.empty()) return;
    const auto& planned = plan_->steps[static_cast<std::size_t>(steps_planned_++) % plan_->steps.size()];
    for (const PlannedCheck& check : planned) {
        const Op& op = schedule_.ranks[config_.rank.index()][check.op];
        const CheckUnit& unit = plan_->units[check.unit];
        if (!covered_.contains({unit.chunk, unit.kind, unit.layer})) continue; // left out
        LayerOp what{op, unit.layer};
        what.op.overlapped = false; // callers do not name pairs
        checks_.push_back({what, check.slot, Planned::Waiting});
    }
    counts_.planned += static_cast<std::int64_t>(checks_.size());
}

Status Session::ran(const Op& op, TimeNs start, TimeNs end) {
    if (!in_step_) return usageError("an op was told outside of a step");
    if (end < start) return usageError(fmt::format("{} ends before it starts", opName(op)));
    const auto& order = schedule_.ranks[config_.rank.index()];
    const std::size_t next = ops_.size();
    const auto same = [](const Op& a, const Op& b) {
        return std::tie(a.kind, a.microbatch, a.chunk, a.sequence) ==
               std::tie(b.kind, b.microbatch, b.chunk, b.sequence);
    };
    Op known = op;
    if (op.kind != OpKind::Optimizer) {
        in_order_ = in_order_ && next < order.size() && same(order[next], op);
        if (in_order_) known.overlapped = order[next].overlapped;
    }
    ops_.push_back({known, start, end});
    last_end_ = end;
    return {};
}

Status Session::known(const LayerOp& what) const {
    if (!in_step_) return usageError("a layer was told outside of a step");
    const Op& op = what.op;
    const bool exists = op.microbatch.value >= 0 && op.microbatch.value < schedule_.microbatches &&
                        op.chunk.value >= 0 && op.chunk.value < schedule_.vpp && op.sequence >= 0 && what.layer >= 0 &&
                        what.layer < layersOf(op.chunk);
    if (exists) return {};
    return usageError(fmt::format("there is no layer {} of {}", what.layer, opName(op)),
                      fmt::format("micro-batches are 0 to {}, chunks 0 to {}, layers of a stage 0 to {}",
                                  schedule_.microbatches - 1, schedule_.vpp - 1, layersOf(op.chunk) - 1));
}

int Session::layersOf(Chunk chunk) const {
    const auto index = static_cast<std::size_t>(std::max(chunk.value, 0));
    return config_.layers[std::min(index, config_.layers.size() - 1)];
}

int Session::layerOf(const LayerOp& what) const {
    const int below = config_.layers_of_model ? stageOf(what.op.chunk).value * layersOf(what.op.chunk) : 0;
    return below + what.layer;
}

Result<bool> Session::wanted(const LayerOp& what) const {
    BUBBLESCOPE_TRY(known(what));
    return std::ranges::any_of(
        checks_, [&](const StepCheck& check) { return check.what == what && check.state != Planned::Over; });
}

std::vector<LayerOp> Session::planned() const {
    std::vector<LayerOp> all;
    for (const StepCheck& check : checks_)
        all.push_back(check.what);
    return all;
}

Status Session::withdraw(const LayerOp& what) {
    const auto waiting = [&](const StepCheck& check) { return check.what == what && check.state == Planned::Waiting; };
    const auto withdrawn = std::ranges::find_if(checks_, waiting);
    if (withdrawn == checks_.end())
        return usageError(fmt::format("no check of layer {} of {} is waiting", what.layer, opName(what.op)));
    checks_.erase(withdrawn);
    --counts_.planned;
    return {};
}

Status Session::computed(const LayerOp& what, std::string_view tensor, std::uint64_t digest, TimeNs now) {
    BUBBLESCOPE_TRY(known(what));
    if (tensor.empty()) return usageError("a digest needs the name of its tensor");
    first_[{what, std::string(tensor)}] = digest;
    if (!writer_) return {};
    DigestRecord record;
    record.step = step_;
    record.rank = config_.rank;
    record.replica = config_.replica;
    record.tensor_rank = config_.tensor_rank;
    record.op = what.op;
    record.layer = layerOf(what);
    record.tensor = tensor;
    record.digest = digest;
    record.time = now;
    digests_.push_back(std::move(record));
    return {};
}

TimeNs Session::predicted(std::size_t next) const {
    TimeNs shortest = TimeNs::max();
    for (const std::vector<TimeNs>& step : bubbles_) {
        if (next < step.size()) shortest = std::min(shortest, step[next]);
    }
    if (shortest != TimeNs::max() && bubbles_.size() >= 2) return shortest;
    for (const Slot& slot : plan_->slots) {
        if (slot.next_op == next) return slot.duration();
    }
    return TimeNs{0};
}

TimeNs Session::costOf(const LayerOp& what) const {
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

Result<std::optional<Task>> Session::ask(TimeNs now, std::optional<TimeNs> free) {
    if (!in_step_) return usageError("checks were asked for outside of a step");
    if (!plan_ || !in_order_ || ops_.empty()) return std::optional<Task>();
    const auto& order = schedule_.ranks[config_.rank.index()];
    const std::size_t next = ops_.size();
    // After the last op the bubble lasts until the slowest rank has ended, which only the plan predicts.
    const TimeNs rest = free ? *free : predicted(std::min(next, order.size())) - (now - last_end_);
    for (StepCheck& check : checks_) {
        if (check.state != Planned::Waiting || plan_->slots[check.slot].next_op > next) continue;
        // Without a digest of the first execution there is nothing to compare with.
        const auto first = first_.lower_bound({check.what, std::string()});
        if (first == first_.end() || first->first.first != check.what) continue;
        const TimeNs cost = costOf(check.what);
        const TimeNs takes = config_.latency + cost +
                             TimeNs{static_cast<std::int64_t>(config_.margin * static_cast<double>(cost.count()))};
        if (takes > rest) continue;
        check.state = Planned::Asked;
        return std::optional(Task{check.what, cost, rest});
    }
    return std::optional<Task>();
}

Session::StepCheck* Session::find(const LayerOp& what) {
    const auto found = std::ranges::find_if(checks_, [&](const StepCheck& check) { return check.what == what; });
    return found == checks_.end() ? nullptr : &*found;
}

CheckRecord Session::recordOf(const LayerOp& what) const {
    CheckRecord record;
    record.step = step_;
    record.rank = config_.rank;
    record.replica = config_.replica;
    record.tensor_rank = config_.tensor_rank;
    record.op = what.op;
    record.layer = layerOf(what);
    return record;
}

void Session::cover(const LayerOp& what) {
    const auto unit = covered_.find({what.op.chunk, what.op.kind, what.layer});
    if (unit == covered_.end() || unit->second) return;
    unit->second = true;
    ++counts_.covered;
}

Result<CheckOutcome> Session::checked(const LayerOp& what, std::string_view tensor, std::uint64_t digest, TimeNs start,
                                      TimeNs end) {
    BUBBLESCOPE_TRY(known(what));
    const auto first = first_.find({what, std::string(tensor)});
    if (first == first_.end()) {
        return usageError(fmt::format("'{}' of {}, layer {}, was not told when it was computed first", tensor,
                                      opName(what.op), what.layer),
                          "call bubblescope_aadiff_computed() for every tensor that is to be compared");
    }
    if (end < start) return usageError("a check ends before it starts");
    CheckRecord record = recordOf(what);
    record.outcome = first->second == digest ? CheckOutcome::Equal : CheckOutcome::Mismatch;
    record.tensor = tensor;
    record.first = first->second;
    record.second = digest;
    record.start = start;
    record.end = end;
    // The tensors of one execution are one check.
    StepCheck* const planned = find(what);
    if (planned != nullptr) planned->state = Planned::Over;
    if (record.outcome == CheckOutcome::Equal) {
        ++counts_.equal;
    } else {
        ++counts_.mismatched;
        mismatch_ = records_.size();
    }
    cover(what);
    std::deque<TimeNs>& costs = costs_[{what.op.chunk, what.op.kind}];
    costs.push_back(end - start);
    if (costs.size() > kRememberedChecks) costs.pop_front();
    records_.push_back(record);
    return record.outcome;
}

Status Session::givenUp(const LayerOp& what, TimeNs start, TimeNs end) {
    BUBBLESCOPE_TRY(known(what));
    StepCheck* const planned = find(what);
    if (planned == nullptr || planned->state != Planned::Asked)
        return usageError(fmt::format("layer {} of {} was not asked for", what.layer, opName(what.op)));
    planned->state = Planned::Over;
    CheckRecord record = recordOf(what);
    record.outcome = CheckOutcome::Aborted;
    record.tensor = "output";
    record.start = start;
    record.end = std::max(start, end);
    ++counts_.aborted;
    records_.push_back(std::move(record));
    return {};
}

Status Session::setDifference(const TensorDifference& difference) {
    if (!mismatch_) return usageError("there is no mismatch in this step");
    records_[*mismatch_].difference = difference;
    return {};
}

Result<Verdict> Session::repeated(std::span<const std::uint64_t> here, std::span<const std::uint64_t> there) {
    if (!mismatch_) return usageError("there is no mismatch in this step");
    if (here.size() < 2 || there.size() == 1)
        return usageError("one execution cannot depart from itself", "repeat it at least twice on each rank");
    CheckRecord& record = records_[*mismatch_];
    const bool agrees = allEqual(here);
    if (!there.empty() && !allEqual(there)) {
        record.verdict = Verdict::Everywhere;
    } else if (!there.empty() && (!agrees || there.front() != here.front())) {
        record.verdict = Verdict::Device;
    } else {
        record.verdict = agrees ? Verdict::Transient : Verdict::Open;
    }
    return record.verdict;
}

SessionCounts Session::counts() const {
    return counts_;
}

void Session::learnTimes() {
    std::vector<TimeNs> before;
    for (std::size_t i = 0; i < ops_.size(); ++i)
        before.push_back(i == 0 ? TimeNs{0} : std::max(TimeNs{0}, ops_[i].start - ops_[i - 1].end));
    if (in_order_) bubbles_.push_back(std::move(before));
    if (bubbles_.size() > kRememberedSteps) bubbles_.pop_front();
    if (plan_ || !in_order_ || bubbles_.size() < kStepsToLearn) return;
    for (const TimelineOp& op : ops_)
        op_times_[op.op.kind].push_back(op.duration());
}

Status Session::endStep() {
    if (!in_step_) return usageError("no step has begun");
    std::set<std::tuple<Chunk, OpKind>> fitted;
    for (const StepCheck& check : checks_)
        if (check.state != Planned::Waiting) fitted.insert({check.what.op.chunk, check.what.op.kind});
    for (const StepCheck& check : checks_) {
        if (check.state == Planned::Over) continue;
        CheckRecord record = recordOf(check.what);
        record.outcome = CheckOutcome::Skipped;
        record.tensor = "output";
        record.start = record.end = last_end_;
        ++counts_.skipped;
        records_.push_back(std::move(record));
    }
    // One check that took long, since the machine was busy elsewhere, must not be the last of its kind.
    for (auto& [key, costs] : costs_)
        if (!fitted.contains(key) && costs.size() > 1) costs.erase(std::ranges::max_element(costs));
    in_step_ = false;
    learnTimes();
    if (!plan_ && !op_times_.empty()) {
        const auto typical = [&](OpKind kind) -> std::optional<TimeNs> {
            const auto found = op_times_.find(kind);
            return found == op_times_.end() ? std::optional<TimeNs>() : std::max(median(found->second), TimeNs{1});
        };
        const TimeNs forward = typical(OpKind::Forward).value_or(TimeNs{1});
        const auto input = typical(OpKind::BackwardInput);
        const auto weight = typical(OpKind::BackwardWeight);
        const auto whole = typical(OpKind::Backward);
        BUBBLESCOPE_ASSIGN(const OpTimes times,
                           whole ? makeOpTimes(forward, whole, {}, {})
                                 : makeOpTimes(forward, {}, input.value_or(forward), weight.value_or(forward)));
        BUBBLESCOPE_TRY(makePlan(times));
    }
    return write();
}

Status Session::write() {
    Status status;
    if (writer_) {
        std::vector<profiler::SliceRecord> slices;
        for (const TimelineOp& op : ops_)
            slices.push_back(profiler::SliceRecord::of(op, stageOf(op.op.chunk), step_));
        status = writer_->append(slices);
        if (status.ok()) status = writer_->append(records_, digests_);
    }
    for (std::size_t i = 0; config_.record && i < records_.size(); ++i) {
        perfetto::CheckEvent event(records_[i], stageOf(records_[i].op.chunk));
        event.add({"rank", std::int64_t{config_.rank.value}});
        event.add({"replica", std::int64_t{config_.replica}});
        event.add({"tensor_rank", std::int64_t{config_.tensor_rank}});
        config_.record(event.name(), records_[i].start, records_[i].end, event.args());
    }
    ops_.clear();
    records_.clear();
    digests_.clear();
    mismatch_.reset();
    return status;
}

Status Session::close() {
    if (in_step_) BUBBLESCOPE_TRY(endStep());
    return writer_ ? writer_->appendEnd(0) : Status{};
}

} // namespace bubblescope::bindings
