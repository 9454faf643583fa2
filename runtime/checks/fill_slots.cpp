#include "runtime/checks/rank_checker.h"

#include "core/aadiff/digest.h"
#include "runtime/checks/known_answers.h"

// Runs again in slots what is planned there.

namespace bubblescope::runtime {
namespace {

constexpr TimeNs kUnknown{3'600'000'000'000}; ///< fits nowhere

} // namespace

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
        if (!clock.arrived()) setup_->board->spare(end - clock.now());
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
    if (usual != usual_.end()) return usual->second;
    const auto like = std::ranges::find_if(usual_, [&](const auto& one) {
        return std::get<LayerPart>(one.first) == part.part &&
               kindOf(std::get<int>(one.first)) == kindOf(part.run.layer);
    });
    return like == usual_.end() ? kUnknown : like->second;
}

void RankChecker::noteCost(const Kept& part, TimeNs took) {
    TimeNs& usual = usual_[{part.run.op.kind, part.part, part.run.layer}];
    usual = usual == TimeNs{0} ? took : (3 * usual + took) / 4;
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
        if (device_ != nullptr) noteCost(parts[i], ended - began);
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
    record.first = was.digestNow();
    record.second = is.digestNow();
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
    if (setup_->board->hasOthers(1)) return settleLater(std::move(record), ship(kept, nominal), std::nullopt);
    pending_.push_back({std::move(record), nullptr, std::nullopt});
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
            LayerResult result;
            const auto span = clock.spend(TimeNs{0}, [&] {
                ResultProbe probe(faults_, {record.op, step_, 0, again, ++executions_});
                stages_.front().second->computeKnown(known.tensor, probe);
                result = probe.take();
            });
            if (again == 0) std::tie(record.start, record.end) = span;
            return result.empty() ? known.digest : result.front().digestNow();
        };
        record.second = compute(0);
        record.outcome = record.first == record.second ? CheckOutcome::Equal : CheckOutcome::Mismatch;
        if (record.outcome == CheckOutcome::Equal) {
            tell(std::move(record), known.tensor, stage);
            continue;
        }
        // The answer is known, so a rank that departs from it again departs from all others.
        const bool again = compute(1) != record.first && compute(2) != record.first;
        record.verdict = again ? Verdict::Device : Verdict::Transient;
        tellMismatch(record, place_.world);
    }
}

} // namespace bubblescope::runtime
