#include "core/report/results/tables.h"

#include "core/timeline/bubbles.h"

#include <array>
#include <string>
#include <utility>

namespace bubblescope::report {
namespace {

/// The rows of the requested steps, or of all if none were requested.
template <class Visit>
void eachStep(const Run& run, const StepRequest& request, Visit visit) {
    for (std::size_t s = 0; s < run.steps.size(); ++s) {
        if (request.holds(run.steps[s])) visit(s, run.steps[s]);
    }
}

template <class Visit>
void eachRank(const StepTimeline& step, const StepRequest& request, Visit visit) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        if (request.shows(Rank{r})) visit(Rank{r});
    }
}

void writeSteps(const Run& run, const RunReport& report, CsvRows& out) {
    const StepRequest& request = report.request;
    out.row({"step", "replica", "status", "start_ns", "wall_ns", "bubble_rate", "expected_bubble_rate",
             "forward_median_ns", "backward_median_ns"});
    eachStep(run, request, [&](std::size_t s, const StepTimeline& step) {
        const StepAnalysis& analysis = report.steps[s];
        out.row({step.index, step.replica, setAsideName(report.selection.whyAside(s)), step.begin, step.wall(),
                 analysis.rates.over_makespan, analysis.form ? Value(analysis.form->bubble_rate) : Value(),
                 analysis.typical.forward, analysis.typical.backward});
    });
}

void writeAccounting(const Run& run, const RunReport& report, CsvRows& out) {
    const StepRequest& request = report.request;
    out.row({"step", "replica", "rank", "entry", "time_ns"});
    static constexpr std::array kCompute{"forward", "backward", "input_grad", "weight_grad", "optimizer"};
    eachStep(run, request, [&](std::size_t s, const StepTimeline& step) {
        for (const RankAccounting& rank : report.diagnoses[s].accounting.ranks) {
            if (!request.shows(rank.rank)) continue;
            const auto entry = [&](std::string_view name, TimeNs time) {
                if (time != TimeNs{0}) out.row({step.index, step.replica, rank.rank, name, time});
            };
            for (std::size_t kind = 0; kind < kCompute.size(); ++kind)
                entry(kCompute[kind], rank.compute[kind]);
            entry("overlapped", rank.overlapped);
            for (std::size_t c = 0; c < kCauseCount; ++c)
                entry(causeKey(static_cast<Cause>(c)), rank.causes[c]);
        }
    });
}

void writeFindings(const RunReport& report, CsvRows& out) {
    out.row({"kind", "severity", "step", "replica", "rank", "peer", "chunk", "cost_per_step_ns", "total_cost_ns",
             "cases", "steps", "of_steps", "first_step", "last_step", "goes_on", "message", "suggestion"});
    for (const Anomaly& found : report.anomalies) {
        out.row({anomalyKindName(found.kind), severityName(found.severity), Value(found.step), Value(found.replica),
                 Value(found.rank), Value(found.peer), Value(found.chunk),
                 found.cost > TimeNs{0} ? Value(found.cost) : Value(),
                 found.seen.total > TimeNs{0} ? Value(found.seen.total) : Value(), found.seen.cases, found.seen.steps,
                 found.seen.of_steps, found.seen.first, found.seen.last, found.seen.goes_on, found.message,
                 found.suggestion});
    }
}

void writeOps(const Run& run, const RunReport& report, CsvRows& out) {
    const StepRequest& request = report.request;
    out.row({"step", "replica", "rank", "kind", "microbatch", "chunk", "sequence", "stage", "overlapped", "start_ns",
             "end_ns", "device_idle_ns", "exposed_comm_ns"});
    eachStep(run, request, [&](std::size_t, const StepTimeline& step) {
        eachRank(step, request, [&](Rank rank) {
            for (const TimelineOp& op : step.ranks[rank.index()]) {
                out.row({step.index, step.replica, rank, std::string(1, opLetter(op.op.kind)), op.op.microbatch,
                         op.op.chunk, op.op.sequence, step.stageOf(rank, op.op.chunk), op.op.overlapped, op.start,
                         op.end, op.device_idle, op.exposed_comm});
            }
        });
    });
}

void writeBubbles(const Run& run, const RunReport& report, CsvRows& out) {
    const StepRequest& request = report.request;
    out.row({"step", "replica", "rank", "position", "start_ns", "end_ns"});
    eachStep(run, request, [&](std::size_t s, const StepTimeline& step) {
        const StepAnalysis& analysis = report.steps[s];
        const bool f_then_b = analysis.form && analysis.form->f_then_b;
        eachRank(step, request, [&](Rank rank) {
            for (const Bubble& bubble : analysis.bubbles[rank.index()]) {
                out.row({step.index, step.replica, rank, positionName(bubble.position, f_then_b), bubble.start,
                         bubble.end});
            }
        });
    });
}

std::string_view spanName(CommKind kind) {
    constexpr std::array<std::string_view, 4> kNames{"send", "receive", "wait", "collective"};
    return kNames[static_cast<std::size_t>(kind)];
}

void writeTransfers(const Run& run, const RunReport& report, CsvRows& out) {
    const StepRequest& request = report.request;
    out.row({"step", "replica", "rank", "peer", "kind", "payload", "microbatch", "sequence", "stage", "start_ns",
             "end_ns"});
    eachStep(run, request, [&](std::size_t, const StepTimeline& step) {
        eachRank(step, request, [&](Rank rank) {
            if (rank.index() >= step.comm.size()) return;
            for (const CommSpan& span : step.comm[rank.index()]) {
                out.row({step.index, step.replica, rank, span.peer, spanName(span.kind),
                         span.payload == Payload::Activation ? "activation" : "gradient", span.microbatch,
                         span.sequence, span.stage, span.start, span.end});
            }
        });
    });
}

} // namespace

std::vector<AnalysisTable> analysisTables(const Run& run, const RunReport& report) {
    return {{"steps", [&](CsvRows& out) { writeSteps(run, report, out); }},
            {"accounting", [&](CsvRows& out) { writeAccounting(run, report, out); }},
            {"findings", [&](CsvRows& out) { writeFindings(report, out); }},
            {"ops", [&](CsvRows& out) { writeOps(run, report, out); }},
            {"bubbles", [&](CsvRows& out) { writeBubbles(run, report, out); }},
            {"transfers", [&](CsvRows& out) { writeTransfers(run, report, out); }}};
}

} // namespace bubblescope::report
