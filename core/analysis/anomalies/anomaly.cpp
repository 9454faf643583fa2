#include "core/analysis/anomalies/anomaly.h"

#include <fmt/format.h>

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
        AnomalyKindInfo{
            Straggler, "straggler",
            "a rank is slower than in other replicas, than in earlier steps, or, in all its chunks, than other ranks"},
        AnomalyKindInfo{HiddenStraggler, "hidden-straggler",
                        "a rank computes for longer than its peers, which wait for it in collectives inside ops, so "
                        "all ops look equally long"},
        AnomalyKindInfo{SlowStage, "slow-stage", "a stage takes longer per micro-batch than the median stage"},
        AnomalyKindInfo{LastStageImbalance, "last-stage-imbalance",
                        "the slow stage is the last one, which has the output head and the loss"},
        AnomalyKindInfo{SlowOp, "slow-op", "single ops took longer than similar ops"},
        AnomalyKindInfo{DataImbalance, "data-imbalance",
                        "micro-batches have unequal lengths: their forward and backward times correlate"},
        AnomalyKindInfo{SlowLink, "slow-link", "transfers from one rank to another take longer than on other links"},
        AnomalyKindInfo{DegradingLink, "degrading-link",
                        "transfers from one rank to another take longer in later steps than in earlier ones"},
        AnomalyKindInfo{ExposedCommunication, "exposed-communication",
                        "compute waits for transfers and collectives, beyond what slow links cost"},
        AnomalyKindInfo{GradientExchange, "gradient-exchange",
                        "a long time passes between the pipeline's end and the optimizers' start"},
        AnomalyKindInfo{TimeBetweenSteps, "time-between-steps",
                        "a long time passes between steps, apart from optimizers and gradient exchange"},
        AnomalyKindInfo{OrderDeparture, "order-departure",
                        "the order of ops differs from other steps, or from the closest schedule"},
        AnomalyKindInfo{MissingOp, "missing-op", "a step is missing an op of its schedule"},
        AnomalyKindInfo{DuplicateOp, "duplicate-op", "a step contains an op twice"},
        AnomalyKindInfo{OutOfPlaceOp, "out-of-place-op",
                        "an op has an invalid micro-batch or chunk, is only half of a pair, or runs before its inputs "
                        "are available"},
        AnomalyKindInfo{BubbleAboveForm, "bubble-above-form", "ranks idle longer than in the closed form"},
        AnomalyKindInfo{BlockingReceive, "blocking-receive",
                        "a rank waited for an op's input although the input of its next op was ready, or a send waited "
                        "behind a receive"},
        AnomalyKindInfo{LaunchBound, "launch-bound",
                        "the device idles during a stage's ops: the host launches kernels too slowly"},
        AnomalyKindInfo{LongWarmUp, "long-warm-up", "the first steps take much longer than those after them"},
        AnomalyKindInfo{StepTimeChange, "step-time-change", "the step time changes at some step and stays changed"},
        AnomalyKindInfo{LongSteps, "long-steps", "some steps are long, and no other finding explains them"},
        AnomalyKindInfo{HostStarved, "host-starved", "processes are ready to run but wait for a CPU core"},
        AnomalyKindInfo{ClockSkew, "clock-skew", "ranks' clocks differed and were aligned"},
        AnomalyKindInfo{CausalityViolation, "causality-violation",
                        "a receive ended before its send started, by more than the clocks' error"},
        AnomalyKindInfo{LostRecords, "lost-records", "the trace has missing or corrupt records"},
        AnomalyKindInfo{MemoryAboveEstimate, "memory-above-estimate", "a rank's peak memory exceeds its estimate"},
        AnomalyKindInfo{AadiffMismatch, "aadiff-mismatch", "repeating a computation gave different bits"},
        AnomalyKindInfo{AadiffUnchecked, "aadiff-unchecked", "checks ran but did not cover all planned work"},
    };
    return kKinds;
}

std::string_view anomalyKindName(AnomalyKind kind) {
    return anomalyKinds()[static_cast<std::size_t>(kind)].name;
}

// All cases of a kind at a place have one identity and form one finding, except for mismatches of checks, which are
// reported individually. The step of a change may move slightly between analyses, so it is left out.
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
