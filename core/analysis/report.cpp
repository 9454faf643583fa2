#include "core/analysis/report.h"

#include "core/analysis/anomalies/find_anomalies.h"
#include "core/analysis/judge_steps.h"
#include "core/base/median.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace bubblescope {
namespace {

ClockOptions clockOptions(const Thresholds& thresholds, ClockUse use) {
    const auto microseconds = [](double value) { return TimeNs{static_cast<std::int64_t>(1e3 * value)}; };
    ClockOptions options;
    options.use = use;
    options.limits.most_drift_ppm = thresholds.clock_drift;
    options.collective_spread = microseconds(thresholds.clock_spread);
    options.tolerance = microseconds(thresholds.clock_tolerance);
    options.largest_residual = microseconds(thresholds.clock_residual);
    return options;
}

Result<RunReport> makeReport(const Run& run, const ReportOptions& options, const JobControl* control) {
    RunReport report;
    report.request = options.request;
    report.clocks = options.clocks;
    BUBBLESCOPE_ASSIGN(report.selection, selectSteps(run.steps, options.request));
    std::vector<StepReplays> replays = replaysOf(run.checks, run.steps);
    if (control != nullptr && control->stopRequested()) return cancelledError();
    report.standards =
        std::make_shared<const StepStandards>(StepStandards::of(run, report.selection, options.clocks.bound()));
    std::shared_ptr<const ExecutedUnits> ran; // of the only step
    {
        Result<JudgedSteps> judged = JudgedSteps();
        const auto judge = [&] {
            judged = judgeSteps({run, report.selection, *report.standards, replays, options.steps_in_full, control});
        };
        const auto sumUp = [&] {
            report.stages = stageTimes(run.steps, report.selection);
            if (run.checks.checks.empty()) return;
            constexpr int kMaxTensorRanks = 1024; // a damaged file may state any number
            report.coverage =
                coverageOf(run.checks, run.steps, run.info ? std::clamp(run.info->tp, 1, kMaxTensorRanks) : 1);
        };
        parallelCalls(judge, sumUp);
        BUBBLESCOPE_ASSIGN(JudgedSteps parts, std::move(judged));
        report.steps = std::move(parts.analyses);
        report.accounts = std::move(parts.accounts);
        report.typical = std::move(parts.typical);
        ran = std::move(parts.ran);
    }
    BUBBLESCOPE_ASSIGN(SliceEvidence slices, sliceEvidence(run, options.clocks, !options.memory_estimate.empty()));
    const AnomalyInput input{.run = run,
                             .analyses = report.steps,
                             .selection = report.selection,
                             .clocks = options.clocks,
                             .limits = options.thresholds,
                             .memory_estimate = options.memory_estimate,
                             .known = knownOfSteps(run, options.clocks.bound()),
                             .replays = std::move(replays),
                             .coverage = report.coverage ? &*report.coverage : nullptr,
                             .slices = std::move(slices),
                             .communication = communicationCosts(report.accounts),
                             .first_ran = ran.get(),
                             .reference = options.reference};
    report.anomalies = options.part_of_run ? findInSteps(input) : findAnomalies(input);
    return report;
}

} // namespace

RunReport analyzeRun(const Run& run, const ReportOptions& options) {
    return makeReport(run, options, nullptr).value();
}

Result<RunReport> analyzeRun(const Run& run, const ReportOptions& options, const JobControl& control) {
    return makeReport(run, options, &control);
}

Result<AlignedRun> alignedRun(Run run, const DiagnosisOptions& options) {
    BUBBLESCOPE_ASSIGN(RunClocks clocks, estimateClocks(run, clockOptions(options.thresholds, options.clocks)));
    run = alignRun(std::move(run), clocks);
    return AlignedRun{std::move(run), std::move(clocks)};
}

Result<DiagnosedRun> diagnoseRun(Run recorded, const DiagnosisOptions& options, const JobControl* control) {
    BUBBLESCOPE_ASSIGN(AlignedRun aligned, alignedRun(std::move(recorded), options));
    const ReportOptions report{options.thresholds, std::move(aligned.clocks), options.memory_estimate, options.request,
                               options.steps_in_full};
    BUBBLESCOPE_ASSIGN(RunReport made, makeReport(aligned.run, report, control));
    return DiagnosedRun{std::move(aligned.run), std::move(made)};
}

std::vector<StageTimes> stageTimes(std::span<const StepTimeline> steps, const StepSelection& selection) {
    if (steps.empty()) return {};
    const StepTimeline& shape = steps.front();
    const auto chunks = static_cast<std::size_t>(shape.vpp);
    using PerKind = std::array<std::vector<TimeNs>, 4>;
    std::vector<PerKind> durations(chunks); // of a rank at a time: those of all are 8 bytes an op
    std::vector<StageTimes> result;
    for (int r = 0; r < shape.pp; ++r) {
        for (PerKind& kinds : durations) {
            for (auto& of_kind : kinds)
                of_kind.clear();
        }
        for (std::size_t s = 0; s < steps.size(); ++s) {
            if (!selection.isSteady(s) || Rank{r}.index() >= steps[s].ranks.size()) continue;
            for (const TimelineOp& op : steps[s].ranks[Rank{r}.index()]) {
                if (op.op.kind == OpKind::Optimizer || op.op.overlapped) continue;
                durations[op.op.chunk.index()][static_cast<std::size_t>(op.op.kind)].push_back(op.duration());
            }
        }
        for (int c = 0; c < shape.vpp; ++c) {
            PerKind& kinds = durations[Chunk{c}.index()];
            const auto of = [&](OpKind kind) { return medianInPlace(kinds[static_cast<std::size_t>(kind)]); };
            StageTimes times{Rank{r}, Chunk{c}, shape.stageOf(Rank{r}, Chunk{c}), {}};
            times.median.forward = of(OpKind::Forward);
            times.median.backward = of(OpKind::Backward);
            times.median.input_grad = of(OpKind::BackwardInput);
            times.median.weight_grad = of(OpKind::BackwardWeight);
            result.push_back(times);
        }
    }
    return result;
}

} // namespace bubblescope
