#include "runtime/replay/rank_checker.h"

#include "core/aadiff/digest.h"
#include "runtime/replay/known_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace bubblescope::runtime {
namespace {

constexpr Op kOptimizer{OpKind::Optimizer, Microbatch{0}, Chunk{0}};
constexpr std::size_t kLastEnds = 8;    ///< of a slot that are looked at
constexpr std::size_t kEndsToTrust = 3; ///< where there is no plan in the host's time
constexpr TimeNs kSmallCheck{200'000};  ///< what a known answer, or a layer's weights, takes of the host at most

TimeNs hostNow() {
    return std::chrono::duration_cast<TimeNs>(std::chrono::steady_clock::now().time_since_epoch());
}

bool isResult(CheckedTensor tensor) {
    return tensor == CheckedTensor::Output || tensor == CheckedTensor::InputGradient ||
           tensor == CheckedTensor::WeightGradient;
}

/// Shows nothing but the digest of all it is shown, which may be struck first.
class DigestProbe final : public LayerProbe {
public:
    explicit DigestProbe(LayerStrikes* strikes = nullptr) : strikes_(strikes) {}
    void touch(CheckedTensor tensor, float* values, std::int64_t count) override {
        if (strikes_ != nullptr) strikes_->strike(tensor, values, count);
        digest_ = digest::mix(digest_) ^ digestOf(values, count);
    }
    [[nodiscard]] std::uint64_t digest() const { return digest_; }

private:
    LayerStrikes* strikes_;
    std::uint64_t digest_ = 0;
};

std::uint64_t weightsDigest(StageModel& stage, int layer) {
    DigestProbe probe;
    stage.showWeights(layer, probe);
    return probe.digest();
}

std::uint64_t digestOf(const Tensor& tensor) {
    return runtime::digestOf(tensor.host().data(), tensor.size());
}

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
    if (index >= holds_.size() || !holds_[index]) return std::nullopt;
    return begin_ + *holds_[index];
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

// ---- While ops run

void RankChecker::beginOp(const Op& op, Stage stage, TimeNs now) {
    op_ = op;
    stage_ = stage;
    op_begin_ = now;
    output_.reset();
    if (faults_.none()) return;
    for (const auto& [number, model] : stages_) {
        if (number != stage) continue;
        const LayerRange layers = model->layers();
        for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
            if (!faults_.strikesWeights(op, step_, layer)) continue;
            LayerStrikes strikes(faults_, {op, step_, layer, 0, ++executions_});
            DigestProbe probe(&strikes);
            model->showWeights(layer, probe);
        }
    }
}

bool RankChecker::begin(const LayerCall& call) {
    call_ = call;
    run_ = {op_, step_, call.layer, 0, ++executions_};
    strikes_.emplace(faults_, run_);
    shown_.clear();
    if (!checks()) return false;
    const bool room = !setup_->options.memory || kept_bytes_ < *setup_->options.memory;
    const int kind = call.layer == 0 ? 0 : call.layer == setup_->headLayer() ? 2 : 1;
    keeps_ = room && wanted_.contains({keyOf(op_), call.layer});
    tries_ = tried_.insert({call.part, kind}).second;
    layer_began_ = hostNow();
    return keeps_ || tries_;
}

void RankChecker::touch(CheckedTensor tensor, float* values, std::int64_t count) {
    strikes_->strike(tensor, values, count);
    if (!checks()) return;
    const bool result = isResult(tensor);
    const bool needed = tensor != CheckedTensor::WeightGradient ? result : setup_->options.digests;
    if (!keeps_ && !tries_ && !needed) return;
    ShownTensor& shown = shown_.emplace_back(ShownTensor{tensor, runtime::digestOf(values, count), {}});
    if (keeps_ || tries_) shown.values.assign(values, values + count);
    if (result && tensor != CheckedTensor::WeightGradient) output_ = shown.digest;
}

void RankChecker::end(std::unique_ptr<LayerReplay> replay) {
    if (!checks()) return;
    TimeNs& usual = usual_[{op_.kind, call_.part, call_.layer}];
    const TimeNs took = hostNow() - layer_began_;
    usual = usual == TimeNs{0} ? took : (3 * usual + took) / 4;
    if (setup_->options.digests && !shown_.empty()) {
        LayerResult results;
        for (const ShownTensor& one : shown_) {
            if (isResult(one.tensor)) results.push_back({one.tensor, one.digest, {}});
        }
        if (!results.empty()) {
            const CheckedTensor tensor = results.front().tensor;
            const DigestRecord digest{step_,    place_.mesh.rank, place_.mesh.replica, place_.mesh.tensor,
                                      op_,      call_.layer,      std::string(),       runtime::digestOf(results),
                                      op_begin_};
            push(profiler::SliceRecord::of(digest, tensor, stage_));
        }
    }
    if (!replay) return;
    Kept kept{run_, stage_, call_.part, std::move(replay), std::move(shown_)};
    if (tries_) tryTwice(kept);
    if (!keeps_) return;
    kept_bytes_ += kept.replay->bytes();
    for (const ShownTensor& one : kept.first)
        kept_bytes_ += static_cast<std::int64_t>(one.values.size() * sizeof(float));
    kept_[{keyOf(op_), call_.layer}].push_back(std::move(kept));
}

void RankChecker::tryTwice(Kept& kept) {
    // Two executions, neither of which is the one that a fault of the moment may have struck.
    Kept again{kept.run, kept.stage, kept.part, kept.replay, execute(*kept.replay, kept.run, 1)};
    const LayerResult twice = execute(*kept.replay, kept.run, 2);
    if (!firstDifference(again.first, twice)) return;
    CheckRecord record = recordOf(CheckKind::Replay, kept.run.op, kept.run.layer, CheckedTensor::Output);
    record.start = record.end = op_begin_;
    compare(again, twice, std::move(record), TimeNs{0}, nullptr);
}

MessageDigests RankChecker::digestsOf(const Tensor& output) const {
    return {output_ ? *output_ : runtime::digestOf(output.host().data(), output.size()), 0};
}

// ---- In slots

void RankChecker::fill(std::size_t index, SlotClock& clock) {
    if (!checks()) return;
    emulated_ = clock.emulates();
    for (std::size_t s = 0; s < slots_.size(); ++s) {
        if (slots_[s].before != index) continue;
        const TimeNs end = predictedEnd(slots_[s]).value_or(TimeNs{0});
        if (index == 0) knownAnswers(end, clock);
        for (const PlannedCheck& check : planned()) {
            if (check.slot != s) continue;
            const bool again = !checked_.insert(check.unit).second;
            if (!again || !swap(check, end, clock)) runPlanned(check, end, clock);
        }
        if (s + 1 == slots_.size()) checkWeights(end, clock);
        while (checkElsewhere(end, clock)) {
        }
    }
}

TimeNs RankChecker::costOf(const Kept& part, TimeNs nominal) const {
    if (emulated_) {
        if (part.run.op.kind != OpKind::Backward) return nominal;
        // Of a whole backward, its share.
        const TimeNs input = times_.opTime(OpKind::BackwardInput, part.stage);
        const TimeNs weight = times_.opTime(OpKind::BackwardWeight, part.stage);
        if (input + weight <= TimeNs{0}) return nominal / 2;
        const double share = static_cast<double>(input.count()) / static_cast<double>((input + weight).count());
        const TimeNs first{static_cast<std::int64_t>(static_cast<double>(nominal.count()) * share)};
        return part.part == LayerPart::InputGradient ? first : nominal - first;
    }
    const auto usual = usual_.find({part.run.op.kind, part.part, part.run.layer});
    return usual == usual_.end() ? TimeNs{0} : usual->second;
}

void RankChecker::runPlanned(const PlannedCheck& check, TimeNs end, SlotClock& clock) {
    const RankPlan& plan = setup_->study.plan().ranks[place_.mesh.rank.index()];
    const CheckUnit& unit = plan.units[check.unit];
    const Op op = setup_->study.timeline().ranks[place_.mesh.rank.index()][check.op].op;
    const Stage stage = schedule_.stageOf(place_.mesh.rank, unit.chunk);
    const int layer = setup_->layersOf(stage).first + unit.layer;
    CheckRecord record = recordOf(CheckKind::Replay, op, layer, CheckedTensor::Output);
    record.start = record.end = clock.now();
    record.outcome = CheckOutcome::Skipped;
    const auto found = kept_.find({keyOf(op), layer});
    TimeNs cost{0};
    if (found != kept_.end()) {
        for (const Kept& part : found->second)
            cost += costOf(part, unit.cost);
    }
    const TimeNs needed{static_cast<std::int64_t>(static_cast<double>(cost.count()) * (1 + setup_->options.margin))};
    if (found == kept_.end() || clock.now() + needed > end || clock.arrived())
        return tell(std::move(record), CheckedTensor::Output, stage);
    const std::vector<Kept> parts = std::move(found->second);
    kept_.erase(found);
    std::optional<std::pair<std::size_t, LayerResult>> other; // part that differs
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    record.outcome = CheckOutcome::Equal;
    for (std::size_t i = 0; i < parts.size() && !other; ++i) {
        if (i > 0 && clock.arrived()) {
            record.outcome = CheckOutcome::Aborted;
            break;
        }
        LayerResult result;
        const auto [began, ended] =
            clock.spend(costOf(parts[i], unit.cost), [&] { result = execute(*parts[i].replay, parts[i].run, 1); });
        if (i == 0) record.start = began;
        record.end = ended;
        first = digest::mix(first) ^ runtime::digestOf(parts[i].first);
        second = digest::mix(second) ^ runtime::digestOf(result);
        if (firstDifference(parts[i].first, result)) other.emplace(i, std::move(result));
    }
    record.first = first;
    record.second = second;
    if (other) return compare(parts[other->first], other->second, std::move(record), unit.cost, &clock);
    const CheckedTensor tensor = op.kind == OpKind::Forward          ? CheckedTensor::Output
                                 : op.kind == OpKind::BackwardWeight ? CheckedTensor::WeightGradient
                                                                     : CheckedTensor::InputGradient;
    if (record.outcome == CheckOutcome::Equal) {
        for (const Kept& part : parts)
            offer(part, unit.cost);
    }
    tell(std::move(record), tensor, stage);
}

LayerResult RankChecker::execute(const LayerReplay& replay, LayerRun run, int again) {
    run.again = again;
    run.number = ++executions_;
    ResultProbe probe(faults_, run);
    replay.run(probe);
    return probe.take();
}

void RankChecker::compare(const Kept& kept, const LayerResult& second, CheckRecord record, TimeNs nominal,
                          SlotClock* clock) {
    const std::size_t at = *firstDifference(kept.first, second);
    const ShownTensor& was = kept.first.at(at);
    const ShownTensor& is = second.at(at);
    record.outcome = CheckOutcome::Mismatch;
    record.tensor = tensorName(was.tensor);
    record.first = was.digest;
    record.second = is.digest;
    record.difference = differenceOf(kept.first, second, at);
    setup_->keepTensors(place_.world, record, was, is);
    // Twice more on this rank: where these agree with each other and with one of the two, the other was struck.
    LayerResult third;
    LayerResult fourth;
    const auto repeat = [&] {
        third = execute(*kept.replay, kept.run, 2);
        fourth = execute(*kept.replay, kept.run, 3);
    };
    if (clock != nullptr) {
        record.end = clock->spend(2 * costOf(kept, nominal), repeat).second;
    } else {
        repeat();
    }
    const bool steady = !firstDifference(third, fourth);
    if (steady && (!firstDifference(third, kept.first) || !firstDifference(third, second))) {
        record.verdict = Verdict::Transient;
        return tellMismatch(record, place_.world);
    }
    settleLater(std::move(record), ship(kept, nominal), std::nullopt);
}

void RankChecker::settleLater(CheckRecord record, ShippedLayer layer, std::optional<Rank> by) {
    std::vector<Rank> not_by{place_.world};
    if (by) not_by.push_back(*by);
    Pending pending{std::move(record), nullptr, by};
    if (setup_->board.hasOthers(not_by.size())) {
        pending.question = std::make_shared<CheckBoard::Question>();
        pending.question->layer = std::move(layer);
        pending.question->not_by = std::move(not_by);
        setup_->board.ask(pending.question);
    }
    pending_.push_back(std::move(pending));
}

ShippedLayer RankChecker::ship(const Kept& kept, TimeNs nominal) const {
    kept.replay->detach();
    return {kept.run, kept.stage, costOf(kept, nominal), kept.replay, kept.first};
}

void RankChecker::knownAnswers(TimeNs end, SlotClock& clock) {
    for (const KnownAnswer& known : runtime::knownAnswers()) {
        CheckRecord record =
            recordOf(CheckKind::KnownAnswer, schedule_.ranks[place_.mesh.rank.index()].front(), 0, known.tensor);
        record.start = record.end = clock.now();
        record.first = known.digest;
        record.outcome = CheckOutcome::Skipped;
        const Stage stage = schedule_.stageOf(place_.mesh.rank, Chunk{0});
        if (clock.now() + kSmallCheck > end || clock.arrived()) {
            tell(std::move(record), known.tensor, stage);
            continue;
        }
        const auto compute = [&](int again) {
            ResultProbe probe(faults_, {record.op, step_, 0, again, ++executions_});
            computeKnown(known.tensor, probe);
            return probe.take();
        };
        LayerResult result;
        std::tie(record.start, record.end) = clock.spend(TimeNs{0}, [&] { result = compute(0); });
        record.second = result.front().digest;
        record.outcome = record.first == record.second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
        if (record.outcome == CheckOutcome::Equal) {
            tell(std::move(record), known.tensor, stage);
            continue;
        }
        // The answer is known, so a rank that departs from it again departs from all others.
        const bool again = compute(1).front().digest != record.first && compute(2).front().digest != record.first;
        record.verdict = again ? Verdict::Device : Verdict::Transient;
        tellMismatch(record, place_.world);
    }
}

// ---- Weights, transfers, copies

void RankChecker::weightsWritten() {
    if (setup_ == nullptr) return;
    for (const auto& [stage, model] : stages_) {
        const LayerRange layers = model->layers();
        for (int layer = layers.first; layer < layers.first + layers.count; ++layer)
            weights_[{stage, layer}] = weightsDigest(*model, layer);
    }
}

void RankChecker::checkWeights(TimeNs end, SlotClock& clock) {
    for (const auto& [stage, model] : stages_) {
        const LayerRange layers = model->layers();
        for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
            CheckRecord record = recordOf(CheckKind::Weights, kOptimizer, layer, CheckedTensor::Weights);
            record.first = weights_[{stage, layer}];
            record.start = record.end = clock.now();
            record.outcome = CheckOutcome::Skipped;
            if (clock.now() + kSmallCheck <= end && !clock.arrived()) {
                std::tie(record.start, record.end) =
                    clock.spend(TimeNs{0}, [&, model = model] { record.second = weightsDigest(*model, layer); });
                record.outcome = record.first == record.second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
            }
            if (record.outcome != CheckOutcome::Mismatch) {
                tell(std::move(record), CheckedTensor::Weights, stage);
                continue;
            }
            // Read once more: either they have changed, or the reading was wrong.
            record.verdict = weightsDigest(*model, layer) == record.first ? Verdict::Transient : Verdict::Device;
            tellMismatch(record, place_.world);
            weights_[{stage, layer}] = record.second; // told once
        }
    }
}

void RankChecker::received(const Op& op, Stage stage, const Tensor& tensor, const MessageDigests& sent, TimeNs now) {
    if (!checks()) return;
    const CheckedTensor what = op.kind == OpKind::Forward ? CheckedTensor::Activation : CheckedTensor::Gradient;
    const LayerRange layers = setup_->layersOf(stage);
    const int layer = op.kind == OpKind::Forward ? layers.first : layers.first + std::max(0, layers.count - 1);
    CheckRecord record = recordOf(CheckKind::Transfer, op, layer, what);
    record.first = sent.content;
    record.second = digestOf(tensor);
    record.start = record.end = now;
    record.outcome = record.first == record.second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
    if (record.outcome == CheckOutcome::Equal) return tell(std::move(record), what, stage);
    if (digestOf(tensor) == record.first) record.verdict = Verdict::Transient; // it was the digest that went wrong
    tellMismatch(record, place_.world);
}

MessageDigests RankChecker::digestsOf(Stage stage, const Tensor& gradients) const {
    std::uint64_t weights = 0;
    for (const auto& [key, digest] : weights_) {
        if (key.first == stage) weights = digest::mix(weights) ^ digest;
    }
    return {digestOf(gradients), weights};
}

void RankChecker::receivedGradients(Stage stage, const Tensor& tensor, const MessageDigests& sent, TimeNs now) {
    if (!checks()) return;
    const MessageDigests own = digestsOf(stage, tensor);
    const auto check = [&](CheckKind kind, CheckedTensor what, std::uint64_t first, std::uint64_t second) {
        CheckRecord record = recordOf(kind, kOptimizer, setup_->layersOf(stage).first, what);
        record.first = first;
        record.second = second;
        record.start = record.end = now;
        record.outcome = first == second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
        if (first == second) return tell(std::move(record), what, stage);
        tellMismatch(record, place_.world);
    };
    check(CheckKind::Transfer, CheckedTensor::GradientSum, sent.content, own.content);
    check(CheckKind::Replicas, CheckedTensor::Weights, sent.weights, own.weights);
}

// ---- By other ranks

void RankChecker::offer(const Kept& kept, TimeNs nominal) {
    if (!setup_->options.elsewhere || !setup_->board.hasOthers(1) || !setup_->board.hasRoom(place_.world)) return;
    // Those first that have been offered least.
    int& times = offered_[{kept.run.op.kind, kept.part, kept.run.op.chunk, kept.run.layer}];
    const auto least = std::ranges::min_element(offered_, {}, [](const auto& one) { return one.second; });
    if (times > least->second) return;
    ++times;
    setup_->board.offer(place_.world, ship(kept, nominal));
}

bool RankChecker::swap(const PlannedCheck& check, TimeNs end, SlotClock& clock) {
    if (!setup_->options.elsewhere) return false;
    const CheckUnit& unit = setup_->study.plan().ranks[place_.mesh.rank.index()].units[check.unit];
    const Op op = setup_->study.timeline().ranks[place_.mesh.rank.index()][check.op].op;
    const int layer = setup_->layersOf(schedule_.stageOf(place_.mesh.rank, unit.chunk)).first + unit.layer;
    const auto found = kept_.find({keyOf(op), layer});
    if (found == kept_.end()) return false;
    for (const Kept& part : found->second)
        offer(part, unit.cost);
    const double room = static_cast<double>(unit.cost.count()) * (1 + setup_->options.margin);
    const TimeNs until = clock.now() + TimeNs{static_cast<std::int64_t>(room)};
    if (!checkElsewhere(std::min(end, until), clock)) return false;
    kept_.erase(found);
    return true;
}

bool RankChecker::checkElsewhere(TimeNs end, SlotClock& clock) {
    if (!setup_->options.elsewhere || clock.arrived()) return false;
    const double room = static_cast<double>((end - clock.now()).count()) / (1 + setup_->options.margin);
    auto taken = setup_->board.take(place_.world, TimeNs{static_cast<std::int64_t>(room)});
    if (!taken) return false;
    CheckBoard::Elsewhere done;
    done.by = place_.world;
    std::tie(done.start, done.end) =
        clock.spend(taken->second.cost, [&] { done.there = execute(*taken->second.replay, taken->second.run, 1); });
    done.layer = std::move(taken->second);
    setup_->board.bringBack(taken->first, std::move(done));
    return true;
}

void RankChecker::endStep() {
    if (setup_ == nullptr) return;
    // What was asked before all ranks met is there for all to see; those asked from here on wait for the next meeting.
    for (Pending& pending : pending_) {
        if (!pending.question) settle(pending);
    }
    std::erase_if(pending_, [](const Pending& one) { return !one.question; });
    answerOthers();
    for (Pending& pending : pending_) {
        if (setup_->board.wait(pending.question.get(), ended_)) settle(pending);
    }
    pending_.clear();
    settleElsewhere();
}

void RankChecker::answerOthers() {
    while (const auto question = setup_->board.next(place_.world)) {
        question->by = place_.world;
        question->once = execute(*question->layer.replay, question->layer.run, 1);
        question->twice = execute(*question->layer.replay, question->layer.run, 2);
        setup_->board.answered(question.get());
    }
}

void RankChecker::settle(Pending& pending) {
    if (!pending.question) return tellMismatch(pending.record, place_.world);
    const CheckBoard::Question& answer = *pending.question;
    const bool steady = !firstDifference(answer.once, answer.twice);
    pending.record.verdict = steady ? Verdict::Device : Verdict::Everywhere;
    if (!pending.by) return tellMismatch(pending.record, place_.world);
    // Two ranks disagree, and the third one has decided.
    const bool own = firstDifference(answer.once, answer.layer.first).has_value();
    tellMismatch(pending.record, own ? place_.world : *pending.by);
}

void RankChecker::settleElsewhere() {
    for (const CheckBoard::Elsewhere& back : setup_->board.collect(place_.world)) {
        CheckRecord record =
            recordOf(CheckKind::Elsewhere, back.layer.run.op, back.layer.run.layer, back.layer.first.front().tensor);
        record.step = back.layer.run.step;
        record.start = back.start;
        record.end = back.end;
        record.first = runtime::digestOf(back.layer.first);
        record.second = runtime::digestOf(back.there);
        const auto at = firstDifference(back.layer.first, back.there);
        record.outcome = at ? CheckOutcome::Mismatch : CheckOutcome::Equal;
        if (!at) {
            tell(std::move(record), back.layer.first.back().tensor, back.layer.stage);
            continue;
        }
        const ShownTensor& was = back.layer.first[*at];
        const ShownTensor& is = back.there.at(*at);
        record.tensor = tensorName(was.tensor);
        record.first = was.digest;
        record.second = is.digest;
        record.difference = differenceOf(back.layer.first, back.there, *at);
        setup_->keepTensors(place_.world, record, was, is);
        // Where the rank now comes to what the other did, its first execution was struck.
        if (!firstDifference(execute(*back.layer.replay, back.layer.run, 2), back.there)) {
            record.verdict = Verdict::Transient;
            tellMismatch(record, place_.world);
            continue;
        }
        // Settled by a third rank at the next meeting.
        settleLater(std::move(record), back.layer, back.by);
    }
}

// ---- Records

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

void RankChecker::tellMismatch(CheckRecord record, Rank world) {
    const MeshPlace place = place_.run.placeOf(world);
    record.rank = place.rank;
    record.replica = place.replica;
    record.tensor_rank = place.tensor;
    if (setup_->write) setup_->write(world, record);
    if (setup_->options.on_mismatch) setup_->options.on_mismatch(record);
    if (!setup_->options.stop) return;
    throw std::runtime_error(fmt::format("{} of {}, layer {}, differs between two executions ({})", record.tensor,
                                         opName(record.op), record.layer, verdictName(record.verdict)));
}

void RankChecker::push(const profiler::SliceRecord& record) {
    if (ring_ != nullptr) ring_->push(record);
}

} // namespace bubblescope::runtime
