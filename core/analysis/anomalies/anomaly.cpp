#include "core/analysis/anomalies/anomaly.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bubblescope {

std::string_view severityName(Severity severity) {
    switch (severity) {
    case Severity::Notice: return "notice";
    case Severity::Warning: return "warning";
    case Severity::Serious: return "serious";
    }
    return "";
}

std::span<const AnomalyKindInfo> anomalyKinds() {
    using enum AnomalyKind;
    static constexpr std::array kKinds{
        AnomalyKindInfo{Straggler, "straggler",
                        "a rank is slower than its equals: the same stage of other replicas, itself in earlier steps, "
                        "or the other ranks in all of its chunks"},
        AnomalyKindInfo{HiddenStraggler, "hidden-straggler",
                        "a rank computes longer than its equals, which wait for it in collectives inside ops, so that "
                        "all ops last alike"},
        AnomalyKindInfo{SlowStage, "slow-stage", "a stage takes longer per micro-batch than the median stage"},
        AnomalyKindInfo{LastStageImbalance, "last-stage-imbalance",
                        "a slow stage that is the last one, which has the head and the loss"},
        AnomalyKindInfo{SlowOp, "slow-op", "single ops took longer than their likes usually do"},
        AnomalyKindInfo{DataImbalance, "data-imbalance",
                        "micro-batches are of unequal length: forward and backward of one are long together"},
        AnomalyKindInfo{SlowLink, "slow-link", "transfers from one rank to another take longer than on other links"},
        AnomalyKindInfo{DegradingLink, "degrading-link",
                        "transfers from one rank to another take longer in later steps than in earlier ones"},
        AnomalyKindInfo{ExposedCommunication, "exposed-communication",
                        "compute waits for transfers and collectives, beyond what slow links cost"},
        AnomalyKindInfo{GradientExchange, "gradient-exchange",
                        "much time lies between the pipeline's end and the optimizers' start"},
        AnomalyKindInfo{TimeBetweenSteps, "time-between-steps",
                        "much time lies between steps, beyond optimizers and the exchange of gradients"},
        AnomalyKindInfo{OrderDeparture, "order-departure",
                        "ops ran in another order than in other steps, or than the closest schedule has"},
        AnomalyKindInfo{MissingOp, "missing-op", "a step lacks an op that its schedule needs"},
        AnomalyKindInfo{DuplicateOp, "duplicate-op", "a step holds an op twice"},
        AnomalyKindInfo{OutOfPlaceOp, "out-of-place-op",
                        "an op of no micro-batch or chunk of its step, half a pair, or one before what it depends on"},
        AnomalyKindInfo{BubbleAboveForm, "bubble-above-form", "steps idle more than the closed form allows"},
        AnomalyKindInfo{BlockingReceive, "blocking-receive",
                        "a rank waited for a later op's input while the op it ran next had its own"},
        AnomalyKindInfo{LaunchBound, "launch-bound",
                        "the device idles inside a stage's ops: the host does not launch fast enough"},
        AnomalyKindInfo{LongWarmUp, "long-warm-up", "the first steps take much longer than those after them"},
        AnomalyKindInfo{StepTimeChange, "step-time-change", "steps take longer, or shorter, from some step on"},
        AnomalyKindInfo{LongSteps, "long-steps", "steps are long now and then, and no other finding explains it"},
        AnomalyKindInfo{HostStarved, "host-starved", "processes are ready to run, and wait for a processor core"},
        AnomalyKindInfo{ClockSkew, "clock-skew", "clocks of ranks differed and were aligned"},
        AnomalyKindInfo{CausalityViolation, "causality-violation",
                        "a receive ended before its send started, by more than the clocks' error"},
        AnomalyKindInfo{LostRecords, "lost-records", "the trace lacks records, or holds damaged ones"},
        AnomalyKindInfo{MemoryAboveEstimate, "memory-above-estimate",
                        "a rank's memory peaked above what was estimated for it"},
        AnomalyKindInfo{AadiffMismatch, "aadiff-mismatch", "the same computation twice gave different bits"},
        AnomalyKindInfo{AadiffUnchecked, "aadiff-unchecked",
                        "checks ran, and not all of the work that they are to cover was checked"},
    };
    return kKinds;
}

std::string_view anomalyKindName(AnomalyKind kind) {
    return anomalyKinds()[static_cast<std::size_t>(kind)].name;
}

// All cases of a kind at a place share one identity and one finding, except that each mismatch of a check is reported.
// The step of a change may move slightly between analyses, so it is left out.
std::string identityOf(const Anomaly& anomaly) {
    const auto number = [](const auto& id) { return id ? id->value : -1; };
    const bool each = anomaly.kind == AnomalyKind::AadiffMismatch;
    const std::string one =
        each && anomaly.op ? fmt::format("{}/{}", opName(*anomaly.op), anomaly.step.value_or(-1)) : "";
    return fmt::format("{}/{}/{}/{}/{}/{}", anomalyKindName(anomaly.kind), number(anomaly.rank), number(anomaly.peer),
                       anomaly.kind == AnomalyKind::DataImbalance ? -1 : anomaly.replica.value_or(-1),
                       anomaly.op ? -1 : number(anomaly.chunk), one);
}

} // namespace bubblescope
