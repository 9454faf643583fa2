#include "core/report/results/tables.h"

#include "core/recognise/stated_values.h"
#include "core/timeline/bubbles.h"

#include <array>
#include <vector>

namespace bubblescope::report {
namespace {

/// The rows of the requested steps, or of all if none were requested.
template <class Visit>
void eachStep(const Run& run, const StepRequest& request, Visit visit) {
    for (std::size_t s = 0; s < run.steps.size(); ++s) {
        if (request.holds(run.steps[s])) visit(s, run.steps[s]);
    }
}

/// As above, for steps that have ops.
template <class Visit>
void eachStepInFull(const Run& run, const StepRequest& request, Visit visit) {
    eachStep(run, request, [&](std::size_t s, const StepTimeline& step) {
        if (step.hasOps()) visit(s, step);
    });
}

template <class Visit>
void eachRank(const StepTimeline& step, const StepRequest& request, Visit visit) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        if (request.shows(Rank{r})) visit(Rank{r});
    }
}

DataTable stepsTable(const Run& run, const RunReport& report) {
    const StepRequest& request = report.request;
    DataTable out({{"step", ColumnType::Int32},
                   {"replica", ColumnType::Int32},
                   {"status", ColumnType::Text},
                   {"start_ns", ColumnType::Int64},
                   {"wall_ns", ColumnType::Int64},
                   {"bubble_rate", ColumnType::Float64},
                   {"expected_bubble_rate", ColumnType::Float64},
                   {"forward_median_ns", ColumnType::Int64},
                   {"backward_median_ns", ColumnType::Int64},
                   {"loss", ColumnType::Float64},
                   {"tokens", ColumnType::Int64},
                   {"samples", ColumnType::Int64},
                   {"sequence_length", ColumnType::Int64}});
    const StepValueMap known = statedValues(run);
    eachStep(run, request, [&](std::size_t s, const StepTimeline& step) {
        const StepAnalysis& analysis = report.steps[s];
        const StepValues values = valuesOf(known, step);
        out.row(step.index, step.replica, setAsideName(report.selection.whyAside(s)), step.begin, step.wall(),
                analysis.rates.over_makespan, analysis.form ? std::optional(analysis.form->bubble_rate) : std::nullopt,
                analysis.typical.forward, analysis.typical.backward, values.loss, values.tokens, values.samples,
                values.sequence_length);
    });
    return out;
}

DataTable accountingTable(const Run& run, const RunReport& report) {
    const StepRequest& request = report.request;
    DataTable out({{"step", ColumnType::Int32},
                   {"replica", ColumnType::Int32},
                   {"rank", ColumnType::Int32},
                   {"entry", ColumnType::Text},
                   {"time_ns", ColumnType::Int64}});
    static constexpr std::array kCompute{"forward", "backward", "input_grad", "weight_grad", "optimizer"};
    eachStep(run, request, [&](std::size_t s, const StepTimeline& step) {
        for (const RankAccounting& rank : report.accounts[s].ranks) {
            if (!request.shows(rank.rank)) continue;
            const auto entry = [&](std::string_view name, TimeNs time) {
                if (time != TimeNs{0}) out.row(step.index, step.replica, rank.rank, name, time);
            };
            for (std::size_t kind = 0; kind < kCompute.size(); ++kind)
                entry(kCompute[kind], rank.compute[kind]);
            entry("overlapped", rank.overlapped);
            for (std::size_t c = 0; c < kCauseCount; ++c)
                entry(causeKey(static_cast<Cause>(c)), rank.causes[c]);
        }
    });
    return out;
}

DataTable findingsTable(const RunReport& report) {
    DataTable out({{"kind", ColumnType::Text},
                   {"severity", ColumnType::Text},
                   {"step", ColumnType::Int32},
                   {"replica", ColumnType::Int32},
                   {"rank", ColumnType::Int32},
                   {"peer", ColumnType::Int32},
                   {"chunk", ColumnType::Int32},
                   {"cost_per_step_ns", ColumnType::Int64},
                   {"total_cost_ns", ColumnType::Int64},
                   {"cases", ColumnType::Int32},
                   {"steps", ColumnType::Int32},
                   {"of_steps", ColumnType::Int32},
                   {"first_step", ColumnType::Int32},
                   {"last_step", ColumnType::Int32},
                   {"goes_on", ColumnType::Bool},
                   {"message", ColumnType::Text},
                   {"suggestion", ColumnType::Text}});
    for (const Anomaly& found : report.anomalies) {
        out.row(anomalyKindName(found.kind), severityName(found.severity), found.step, found.replica, found.rank,
                found.peer, found.chunk, found.cost > TimeNs{0} ? std::optional(found.cost) : std::nullopt,
                found.seen.total > TimeNs{0} ? std::optional(found.seen.total) : std::nullopt, found.seen.cases,
                found.seen.steps, found.seen.of_steps, found.seen.first, found.seen.last, found.seen.goes_on,
                found.message, found.suggestion);
    }
    return out;
}

DataTable emptyOps() {
    return DataTable({{"step", ColumnType::Int32},
                      {"replica", ColumnType::Int32},
                      {"rank", ColumnType::Int32},
                      {"kind", ColumnType::Text},
                      {"microbatch", ColumnType::Int32},
                      {"chunk", ColumnType::Int32},
                      {"sequence", ColumnType::Int32},
                      {"stage", ColumnType::Int32},
                      {"overlapped", ColumnType::Bool},
                      {"start_ns", ColumnType::Int64},
                      {"end_ns", ColumnType::Int64},
                      {"device_idle_ns", ColumnType::Int64},
                      {"exposed_comm_ns", ColumnType::Int64}});
}

void addOps(DataTable& out, const StepTimeline& step, Rank rank) {
    for (const TimelineOp& op : step.ranks[rank.index()]) {
        const char letter = opLetter(op.op.kind);
        const OpDetails& details = step.detailsOf(op);
        out.row(step.index, step.replica, rank, std::string_view(&letter, 1), op.op.microbatch, op.op.chunk,
                op.op.sequence, step.stageOf(rank, op.op.chunk), op.op.overlapped, op.start, op.end,
                details.device_idle, details.exposed_comm);
    }
}

DataTable opsTable(const Run& run, const RunReport& report) {
    const StepRequest& request = report.request;
    DataTable out = emptyOps();
    std::size_t count = 0;
    eachStepInFull(run, request, [&](std::size_t, const StepTimeline& step) {
        eachRank(step, request, [&](Rank rank) { count += step.ranks[rank.index()].size(); });
    });
    out.reserve(count);
    eachStepInFull(run, request, [&](std::size_t, const StepTimeline& step) {
        eachRank(step, request, [&](Rank rank) { addOps(out, step, rank); });
    });
    return out;
}

DataTable emptyBubbles() {
    return DataTable({{"step", ColumnType::Int32},
                      {"replica", ColumnType::Int32},
                      {"rank", ColumnType::Int32},
                      {"position", ColumnType::Text},
                      {"start_ns", ColumnType::Int64},
                      {"end_ns", ColumnType::Int64}});
}

void addBubbles(DataTable& out, const StepTimeline& step, const StepAnalysis& analysis, const StepRequest& request) {
    const bool f_then_b = analysis.form && analysis.form->f_then_b;
    const std::vector<std::vector<Bubble>> bubbles = findBubbles(step); // the report may not contain them
    eachRank(step, request, [&](Rank rank) {
        for (const Bubble& bubble : bubbles[rank.index()])
            out.row(step.index, step.replica, rank, positionName(bubble.position, f_then_b), bubble.start, bubble.end);
    });
}

DataTable bubblesTable(const Run& run, const RunReport& report) {
    const StepRequest& request = report.request;
    DataTable out = emptyBubbles();
    eachStepInFull(run, request,
                   [&](std::size_t s, const StepTimeline& step) { addBubbles(out, step, report.steps[s], request); });
    return out;
}

std::string_view spanName(CommKind kind) {
    constexpr std::array<std::string_view, 4> kNames{"send", "receive", "wait", "collective"};
    return kNames[static_cast<std::size_t>(kind)];
}

DataTable transfersTable(const Run& run, const RunReport& report) {
    const StepRequest& request = report.request;
    DataTable out({{"step", ColumnType::Int32},
                   {"replica", ColumnType::Int32},
                   {"rank", ColumnType::Int32},
                   {"peer", ColumnType::Int32},
                   {"kind", ColumnType::Text},
                   {"payload", ColumnType::Text},
                   {"microbatch", ColumnType::Int32},
                   {"sequence", ColumnType::Int32},
                   {"stage", ColumnType::Int32},
                   {"start_ns", ColumnType::Int64},
                   {"end_ns", ColumnType::Int64},
                   {"communicator", ColumnType::Text}});
    eachStepInFull(run, request, [&](std::size_t, const StepTimeline& step) {
        eachRank(step, request, [&](Rank rank) {
            if (rank.index() >= step.comm.size()) return;
            for (const CommSpan& span : step.comm[rank.index()]) {
                out.row(step.index, step.replica, rank, span.peer, spanName(span.kind),
                        span.payload == Payload::Activation ? "activation" : "gradient", span.microbatch, span.sequence,
                        span.stage, span.start, span.end, run.communicatorOf(span));
            }
        });
    });
    return out;
}

} // namespace

DataTable stepOps(const StepTimeline& step) {
    DataTable out = emptyOps();
    eachRank(step, {}, [&](Rank rank) { addOps(out, step, rank); });
    return out;
}

DataTable stepBubbles(const StepTimeline& step, const StepAnalysis& analysis) {
    DataTable out = emptyBubbles();
    addBubbles(out, step, analysis, {});
    return out;
}

std::vector<AnalysisTable> analysisTables(const Run& run, const RunReport& report) {
    return {{"steps", [&] { return stepsTable(run, report); }},
            {"accounting", [&] { return accountingTable(run, report); }},
            {"findings", [&] { return findingsTable(report); }},
            {"ops", [&] { return opsTable(run, report); }},
            {"bubbles", [&] { return bubblesTable(run, report); }},
            {"transfers", [&] { return transfersTable(run, report); }}};
}

} // namespace bubblescope::report
