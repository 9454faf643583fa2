#include "runtime/checks/rank_checker.h"

#include <algorithm>
#include <utility>

// Has other ranks run layers again, for a verdict or as a check.

namespace bubblescope::runtime {

using Reply = CheckBoard::Reply;

void RankChecker::settleLater(CheckRecord record, ShippedLayer layer, std::optional<Rank> by) {
    std::vector<Rank> not_by{place_.world};
    if (by) not_by.push_back(*by);
    Pending pending{std::move(record), nullptr, by};
    if (setup_->board->hasOthers(not_by.size())) {
        pending.question = std::make_shared<CheckBoard::Question>();
        pending.question->layer = std::move(layer);
        pending.question->not_by = std::move(not_by);
        setup_->board->ask(pending.question);
    }
    pending_.push_back(std::move(pending));
}

ShippedLayer RankChecker::ship(const Kept& kept, TimeNs nominal) const {
    kept.replay->detach();
    return {kept.run, kept.stage, costOf(kept, nominal), kept.replay, kept.first};
}

void RankChecker::offer(const Kept& kept, TimeNs nominal) {
    if (!setup_->options.elsewhere || !setup_->board->hasOthers(1) || !setup_->board->hasRoom(place_.world)) return;
    // Those first that have been offered least.
    int& times = offered_[{kept.run.op.kind, kept.part, kept.run.op.chunk, kept.run.layer}];
    const auto least = std::ranges::min_element(offered_, {}, [](const auto& one) { return one.second; });
    if (times > least->second) return;
    ++times;
    setup_->board->offer(place_.world, ship(kept, nominal));
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
    auto taken = setup_->board->take(place_.world, TimeNs{static_cast<std::int64_t>(room)});
    if (!taken) return false;
    CheckBoard::Elsewhere done;
    done.by = place_.world;
    std::tie(done.start, done.end) =
        clock.spend(taken->second.cost, [&] { done.there = execute(*taken->second.replay, taken->second.run, 1); });
    done.layer = std::move(taken->second);
    setup_->board->bringBack(taken->first, std::move(done));
    return true;
}

void RankChecker::endStep() {
    if (setup_ == nullptr) return;
    setup_->board->stepEnded();
    // Among threads, what was asked before all ranks met is there for all to see; those asked from here on wait for the
    // next meeting.
    std::vector<Pending> before = std::exchange(pending_, {});
    answerOthers();
    for (Pending& pending : before) {
        const auto reply = pending.question ? setup_->board->replyTo(pending.question, ended_) : Reply::Never;
        if (reply == Reply::Waiting) {
            pending_.push_back(std::move(pending));
        } else {
            settle(pending, reply);
        }
    }
    settleElsewhere();
    for (const CheckRecord& check : setup_->board->told()) {
        if (setup_->write) setup_->write(place_.world, check);
    }
}

void RankChecker::finish() {
    if (setup_ == nullptr) return;
    do {
        endStep();
    } while (!setup_->board->over(!pending_.empty()));
    abandon();
}

void RankChecker::abandon() {
    for (Pending& pending : std::exchange(pending_, {}))
        note(pending.record, place_.world);
}

void RankChecker::answerOthers() {
    while (const auto question = setup_->board->next(place_.world)) {
        question->by = place_.world;
        question->once = execute(*question->layer.replay, question->layer.run, 1);
        question->twice = execute(*question->layer.replay, question->layer.run, 2);
        setup_->board->answered(question);
    }
}

void RankChecker::settle(Pending& pending, CheckBoard::Reply reply) {
    if (reply == Reply::Never) return tellMismatch(pending.record, place_.world); // open
    const CheckBoard::Question& answer = *pending.question;
    const bool steady = !firstDifference(answer.once, answer.twice);
    pending.record.verdict = steady ? Verdict::Device : Verdict::Everywhere;
    if (!pending.by) return tellMismatch(pending.record, place_.world);
    // Two ranks disagree, and the third one has decided.
    const bool own = firstDifference(answer.once, answer.layer.first).has_value();
    tellMismatch(pending.record, own ? place_.world : *pending.by);
}

void RankChecker::settleElsewhere() {
    for (const CheckBoard::Elsewhere& back : setup_->board->collect(place_.world)) {
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
        record.first = was.digestNow();
        record.second = is.digestNow();
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

} // namespace bubblescope::runtime
