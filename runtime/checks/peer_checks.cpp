#include "runtime/checks/peer_checks.h"

#include "core/aadiff/mismatch.h"

#include <algorithm>
#include <array>
#include <utility>

namespace bubblescope::runtime {

using Reply = CheckBroker::Reply;

void PeerChecks::settleLater(CheckRecord record, const CapturedLayer& layer, TimeNs nominal) {
    if (broker().hasOthers(1)) return ask(std::move(record), ship(layer, nominal), std::nullopt);
    pending_.push_back({std::move(record), nullptr, std::nullopt});
}

void PeerChecks::ask(CheckRecord record, ShippedLayer layer, std::optional<Rank> by) {
    std::vector<Rank> excluded{context_.rank.world};
    if (by) excluded.push_back(*by);
    Pending pending{std::move(record), nullptr, by};
    if (broker().hasOthers(excluded.size())) {
        pending.question = std::make_shared<CheckBroker::Question>();
        pending.question->layer = std::move(layer);
        pending.question->excluded = std::move(excluded);
        broker().ask(pending.question);
    }
    pending_.push_back(std::move(pending));
}

ShippedLayer PeerChecks::ship(const CapturedLayer& layer, TimeNs nominal) const {
    layer.computation->detach();
    return {layer.run, layer.stage, costs_.of(layer, nominal), layer.computation, layer.first};
}

void PeerChecks::offer(const CapturedLayer& layer, TimeNs nominal) {
    if (!context_.setup.options.elsewhere || !broker().hasOthers(1) || !broker().hasRoom(context_.rank.world)) return;
    // The layers that were offered least often come first.
    int& times = offered_[{layer.run.op.kind, layer.part, layer.run.op.chunk, layer.run.layer}];
    const auto least = std::ranges::min_element(offered_, {}, [](const auto& one) { return one.second; });
    if (times > least->second) return;
    ++times;
    broker().offer(context_.rank.world, ship(layer, nominal));
}

bool PeerChecks::checkForOthers(TimeNs end, IdleClock& clock) {
    if (!context_.setup.options.elsewhere || clock.arrived()) return false;
    const double room = static_cast<double>((end - clock.now()).count()) / (1 + context_.setup.options.margin);
    auto taken = broker().takeOffer(context_.rank.world, TimeNs{static_cast<std::int64_t>(room)});
    if (!taken) return false;
    CheckBroker::RemoteResult done;
    done.by = context_.rank.world;
    std::tie(done.start, done.end) = clock.spend(
        taken->second.cost, [&] { done.result = context_.execute(*taken->second.computation, taken->second.run, 1); });
    done.layer = std::move(taken->second);
    broker().returnResult(taken->first, std::move(done));
    return true;
}

void PeerChecks::endStep() {
    broker().onStepEnd();
    // Among threads, all ranks see the questions asked before the barrier; later questions wait for the next barrier.
    std::vector<Pending> before = std::exchange(pending_, {});
    answerOthers();
    for (Pending& pending : before) {
        const auto reply = pending.question ? broker().replyTo(pending.question, context_.rank.ended) : Reply::Never;
        if (reply == Reply::Waiting) {
            pending_.push_back(std::move(pending));
        } else {
            settle(pending, reply);
        }
    }
    settleOffers();
    for (const CheckRecord& check : broker().takeVerdicts()) {
        if (context_.setup.write) context_.setup.write(context_.rank.world, check);
    }
}

void PeerChecks::drain() {
    do {
        endStep();
    } while (!broker().drain(!pending_.empty()));
    abandon();
}

void PeerChecks::abandon() {
    for (Pending& pending : std::exchange(pending_, {}))
        context_.announce(pending.record, context_.rank.world);
}

void PeerChecks::answerOthers() {
    while (const auto question = broker().nextQuestion(context_.rank.world)) {
        question->answered_by = context_.rank.world;
        question->once = context_.execute(*question->layer.computation, question->layer.run, 1);
        question->twice = context_.execute(*question->layer.computation, question->layer.run, 2);
        broker().answer(question);
    }
}

void PeerChecks::settle(Pending& pending, Reply reply) {
    const Rank self = context_.rank.world;
    if (reply == Reply::Never) return context_.report(pending.record, self); // without a verdict
    const CheckBroker::Question& answer = *pending.question;
    const std::array there{runtime::digestOf(answer.once), runtime::digestOf(answer.twice)};
    pending.record.verdict = verdictOf(pending.record.first, pending.record.second, {}, there);
    if (!pending.by) return context_.report(pending.record, self);
    // Two ranks disagree, and the third one has decided.
    const bool own = firstDifference(answer.once, answer.layer.first).has_value();
    context_.report(pending.record, own ? self : *pending.by);
}

void PeerChecks::settleOffers() {
    for (const CheckBroker::RemoteResult& back : broker().takeResults(context_.rank.world)) {
        const LayerRun& run = back.layer.run;
        CheckRecord record =
            context_.recordOf(CheckKind::Elsewhere, run.op, run.layer, back.layer.first.front().tensor);
        record.step = run.step;
        record.start = back.start;
        record.end = back.end;
        record.first = runtime::digestOf(back.layer.first);
        record.second = runtime::digestOf(back.result);
        const auto at = firstDifference(back.layer.first, back.result);
        record.outcome = at ? CheckOutcome::Mismatch : CheckOutcome::Equal;
        if (!at) {
            context_.write(record, back.layer.first.back().tensor, back.layer.stage);
            continue;
        }
        const ShownTensor& was = back.layer.first[*at];
        const ShownTensor& is = back.result.at(*at);
        record.tensor = tensorName(was.tensor);
        record.first = was.digestNow();
        record.second = is.digestNow();
        record.difference = differenceOf(back.layer.first, back.result, *at);
        context_.setup.keepTensors(context_.rank.world, record, was, is);
        // If this rank now gets the other rank's result, its own first execution was faulty.
        if (!firstDifference(context_.execute(*back.layer.computation, run, 2), back.result)) {
            record.verdict = Verdict::Transient;
            context_.report(record, context_.rank.world);
            continue;
        }
        // A third rank decides at the next barrier.
        ask(std::move(record), back.layer, back.by);
    }
}

} // namespace bubblescope::runtime
