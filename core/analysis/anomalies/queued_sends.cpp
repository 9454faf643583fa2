#include "core/analysis/anomalies/find_anomalies.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

// Sends that were ready on both sides, but waited behind a receive from a third rank: in NCCL, the transfers of a rank
// in one communicator run one after another. If the trace names communicators, both transfers must be in the same one.
namespace bubblescope {
namespace {

/// Equal at both ends of a transfer.
using TransferKey = std::tuple<Payload, Microbatch, std::int16_t, Stage>;

TransferKey keyOfSpan(const CommSpan& span) {
    return {span.payload, span.microbatch, span.sequence, span.stage};
}

struct QueuedSend {
    std::size_t step = 0;
    CommSpan send;
    CommSpan behind;
    TimeInterval when;
    [[nodiscard]] TimeNs wait() const { return when.end - when.start; }
};

class QueuedSends {
public:
    QueuedSends(const StepTimeline& step, std::size_t index) : step_(step), index_(index) {
        for (const auto& spans : step.comm) {
            auto& posted = posted_.emplace_back();
            for (const CommSpan& span : spans) {
                if (span.kind != CommKind::Receive) continue;
                const auto [found, added] = posted.try_emplace(keyOfSpan(span), span.start);
                if (!added) found->second = std::min(found->second, span.start);
            }
        }
    }

    void findOn(Rank rank, std::vector<QueuedSend>& into) const {
        const auto made = producedOn(rank);
        std::vector<const CommSpan*> receives;
        for (const CommSpan& span : step_.comm[rank.index()]) {
            if (span.kind == CommKind::Receive) receives.push_back(&span);
        }
        for (const CommSpan& send : step_.comm[rank.index()]) {
            if (send.kind != CommKind::Send || send.peer.index() >= posted_.size()) continue;
            const auto produced = made.find(keyOfSpan(send));
            const auto posted = posted_[send.peer.index()].find(keyOfSpan(send));
            if (produced == made.end() || posted == posted_[send.peer.index()].end()) continue;
            const TimeNs ready = std::max(produced->second, posted->second);
            if (const CommSpan* const behind = lastBefore(receives, send, ready))
                into.push_back({index_, send, *behind, {std::max(ready, behind->start), behind->end}});
        }
    }

private:
    /// Times at which the payloads sent by this rank were computed.
    [[nodiscard]] std::map<TransferKey, TimeNs> producedOn(Rank rank) const {
        std::map<TransferKey, TimeNs> made;
        for (const TimelineOp& op : step_.ranks[rank.index()]) {
            const bool forward = op.op.kind == OpKind::Forward;
            if (!forward && !producesInputGradient(op.op.kind)) continue;
            const Stage consumer{transferNumber(step_.placement, step_.pp * step_.vpp, payloadOf(op.op.kind),
                                                step_.stageOf(rank, op.op.chunk).value)};
            made[{payloadOf(op.op.kind), op.op.microbatch, op.op.sequence, consumer}] = op.end;
        }
        return made;
    }

    /// The receive from another rank that was pending when the send was ready, and after whose end the send started
    /// immediately.
    static const CommSpan* lastBefore(const std::vector<const CommSpan*>& receives, const CommSpan& send,
                                      TimeNs ready) {
        const CommSpan* last = nullptr;
        for (const CommSpan* const span : receives) {
            if (span->start >= send.start || span->end > send.start || span->end <= ready) continue;
            const bool apart =
                span->communicator != 0 && send.communicator != 0 && span->communicator != send.communicator;
            if (!apart && span->peer != send.peer && (last == nullptr || span->end > last->end)) last = span;
        }
        if (last == nullptr) return nullptr;
        const TimeNs waited = last->end - std::max(ready, last->start);
        return send.start - last->end <= waited / 10 ? last : nullptr;
    }

    const StepTimeline& step_;
    std::size_t index_;
    std::vector<std::map<TransferKey, TimeNs>> posted_; ///< per rank: start of each receive
};

Anomaly queuedSend(const AnomalyInput& input, Rank rank, const std::vector<QueuedSend>& places, std::size_t step,
                   TimeNs sum) {
    const QueuedSend& shown = *std::ranges::max_element(
        places, {}, [&](const QueuedSend& place) { return place.step == step ? place.wait() : TimeNs{-1}; });
    Cases cases;
    for (const QueuedSend& place : places)
        cases.add(place.step);
    Anomaly anomaly;
    anomaly.kind = AnomalyKind::BlockingReceive;
    anomaly.severity = input.severityOf(sum, step);
    anomaly.rank = rank;
    anomaly.peer = shown.send.peer;
    anomaly.step = input.run.steps[step].index;
    anomaly.when = shown.when;
    input.setSeen(anomaly, cases);
    anomaly.evidence = {{"blocked_ns", static_cast<double>(sum.count())},
                        {"longest_ns", static_cast<double>(shown.wait().count())},
                        {"places", static_cast<double>(places.size())}};
    const std::string communicator =
        shown.send.communicator == shown.behind.communicator ? input.run.communicatorOf(shown.send) : std::string();
    anomaly.message =
        say("The send {}→{} waited {} behind the receive {}→{}, although rank {} had posted its receive; such waits "
            "took {} of step {} ({:.1f} %).",
            rank.value, shown.send.peer.value, formatTime(shown.wait()), shown.behind.peer.value, rank.value,
            shown.send.peer.value, formatTime(sum), *anomaly.step, 100 * input.fraction(sum, step));
    anomaly.evidence.emplace_back("same_communicator", communicator.empty() ? 0 : 1);
    if (!communicator.empty())
        anomaly.message += say(" Both are in the communicator '{}'.", communicator);
    else
        anomaly.message += say(" The trace does not name their communicators, so the cause is uncertain.");
    anomaly.suggestion = say("Give each directed pair of ranks its own communicator, or post that receive later.");
    return anomaly;
}

} // namespace

void findQueuedSends(const AnomalyInput& input, Anomalies& found) {
    std::map<Rank, std::vector<QueuedSend>> queued;
    for (std::size_t s = 0; s < input.run.steps.size(); ++s) {
        const StepTimeline& step = input.run.steps[s];
        const QueuedSends sends(step, s);
        for (std::size_t r = 0; r < step.comm.size(); ++r) {
            if (!step.comm[r].empty()) sends.findOn(Rank{r}, queued[Rank{r}]);
        }
    }
    for (const auto& [rank, places] : queued) {
        std::map<std::size_t, TimeNs> per_step;
        for (const QueuedSend& place : places)
            per_step[place.step] += place.wait();
        const auto worst = std::ranges::max_element(per_step, {}, [](const auto& entry) { return entry.second; });
        if (worst == per_step.end() || !input.worthReporting(worst->second, worst->first)) continue;
        found.push_back(queuedSend(input, rank, places, worst->first, worst->second));
    }
}

} // namespace bubblescope
