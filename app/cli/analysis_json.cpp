#include "app/cli/analysis_output.h"
#include "app/cli/checks_output.h"
#include "app/cli/diagnosis_output.h"

#include <cmath>
#include <utility>

namespace bubblescope::cli {
namespace {

Json scheduleJson(const Run& run) {
    Json schedule = {{"schedule", run.schedule.name},
                     {"flavor", run.schedule.flavor},
                     {"pp", run.schedule.pp},
                     {"microbatches", run.schedule.microbatches},
                     {"vpp", run.schedule.vpp},
                     {"placement", placementName(run.schedule.placement)},
                     {"recognised_by", run.annotation},
                     {"source", run.explanation.source},
                     {"confidence", run.explanation.confidence},
                     {"evidence", run.explanation.evidence},
                     {"alternatives", run.explanation.alternatives}};
    if (run.departure) {
        schedule["closest"] = run.closest;
        schedule["departs_at"] = {{"rank", run.departure->rank.value},
                                  {"index", run.departure->index},
                                  {"expected", opName(run.departure->expected)},
                                  {"observed", opName(run.departure->observed)}};
    }
    return schedule;
}

/// Sizes of the job, where its ranks are in it, and how that is known.
Json meshJson(const RankPlaces& places) {
    Json mesh = {{"source", places.source}};
    for (std::size_t axis = 0; axis < kMeshAxisNames.size(); ++axis)
        mesh[std::string(kMeshAxisNames[axis])] = places.sizes.of[axis];
    mesh["ranks"] = Json::array();
    for (const auto& [rank, place] : places.ranks) {
        mesh["ranks"].push_back(placeJson(place));
        mesh["ranks"].back()["rank"] = rank;
    }
    return mesh;
}

Json traceJson(const Run& run) {
    Json files = Json::array();
    for (const auto& file : run.files)
        files.push_back(file.string());
    Json trace = {{"files", files},       {"format", run.format},        {"ranks", run.schedule.pp},
                  {"slices", run.slices}, {"span_ns", run.span.count()}, {"problems", problemsJson(run.problems)}};
    if (run.places) trace["mesh"] = meshJson(*run.places);
    if (run.info) {
        trace["source"] = run.info->source;
        trace["backend"] = run.info->backend;
        trace["paced"] = run.info->paced;
        if (run.info->paced) trace["pace_tolerance_ns"] = run.info->pace_tolerance.count();
        if (!run.info->faults.empty()) trace["planted_faults"] = run.info->faults;
    }
    return trace;
}

Json positionsJson(const RankAccount& account, const StepAnalysis& step) {
    const bool f_then_b = step.form && step.form->f_then_b;
    Json positions = Json::object();
    for (std::size_t i = 0; i < kPositionCount; ++i) {
        const bool anything =
            account.observed[i].count() != 0 || account.executed[i].count() != 0 || account.expected[i].count() != 0;
        if (!anything) continue;
        Json entry = {{"observed_ns", account.observed[i].count()}, {"executed_ns", account.executed[i].count()}};
        if (step.positionsKnown()) entry["closed_form_ns"] = account.expected[i].count();
        positions[std::string(positionName(static_cast<Position>(i), f_then_b))] = entry;
    }
    return positions;
}

Json stepJson(const StepAnalysis& step, const StepTimeline& timeline, const StepDiagnosis& diagnosis, bool checked) {
    Json ranks = Json::array();
    for (const RankAccount& account : step.ranks) {
        ranks.push_back(
            {{"rank", account.rank.value},
             {"busy_ns", account.busy.count()},
             {"bubble_ns", account.bubble.count()},
             {"expected_bubble_ns", account.expected_bubble ? Json(account.expected_bubble->count()) : Json()},
             {"positions", positionsJson(account, step)},
             {"accounting", accountingJson(diagnosis.accounting.ranks[account.rank.index()])}});
        if (checked) ranks.back()["replay_ns"] = account.replay.count();
    }
    Json document = {{"index", step.index},
                     {"replica", step.replica},
                     {"wall_ns", step.wall.count()},
                     {"bubble_rate", step.rates.over_makespan},
                     {"span_bubble_rate", step.rates.span},
                     {"over_ideal", step.rates.over_ideal},
                     {"typical_ns", {{"F", step.typical.forward.count()}, {"B", step.typical.backward.count()}}},
                     {"ranks", ranks}};
    if (step.form) {
        document["expected_bubble_rate"] = step.form->bubble_rate;
        document["expected_makespan_ns"] = step.form->makespan.count();
    } else {
        document["no_closed_form"] = step.form_note;
        if (step.at_least) document["makespan_at_least_ns"] = step.at_least->count();
    }
    addDiagnosis(document, timeline, diagnosis);
    return document;
}

Json stagesJson(const RunReport& report) {
    Json stages = Json::array();
    for (const StageTimes& stage : report.stages) {
        stages.push_back({{"rank", stage.rank.value},
                          {"chunk", stage.chunk.value},
                          {"stage", stage.stage.value},
                          {"forward_ns", stage.median.forward.count()},
                          {"backward_ns", stage.median.backward.count()},
                          {"input_grad_ns", stage.median.input_grad.count()},
                          {"weight_grad_ns", stage.median.weight_grad.count()}});
    }
    return stages;
}

Json anomaliesJson(const RunReport& report) {
    Json anomalies = Json::array();
    for (const Anomaly& anomaly : report.anomalies)
        anomalies.push_back(anomalyJson(anomaly));
    return anomalies;
}

Json clocksJson(const RunClocks& clocks) {
    Json ranks = Json::array();
    for (const RankClock& rank : clocks.ranks) {
        ranks.push_back({{"rank", rank.rank.value},
                         {"replica", rank.replica},
                         {"host", rank.host.empty() ? Json() : Json(rank.host)},
                         {"group", rank.fit.group},
                         {"offset_ns", rank.fit.offset.count()},
                         {"drift_ppm", rank.fit.drift * 1e6},
                         {"bound_ns", rank.fit.bound.count()}});
    }
    return {{"method", clockMethodName(clocks.method)},
            {"reason", clocks.reason},
            {"events",
             {{"transfers", clocks.transfers},
              {"op_orders", clocks.op_orders},
              {"collectives", clocks.collectives},
              {"pings", clocks.pings}}},
            {"residual_ns", clocks.residual.count()},
            {"bound_ns", clocks.bound().count()},
            {"ranks", ranks}};
}

} // namespace

Json anomalyJson(const Anomaly& anomaly) {
    Json evidence = Json::object();
    for (const auto& [name, value] : anomaly.evidence) {
        const bool whole = name.ends_with("_ns") || (value == std::floor(value) && !name.ends_with("ratio"));
        evidence[name] = whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
    }
    Json entry = {{"kind", anomalyKindName(anomaly.kind)},
                  {"severity", severityName(anomaly.severity)},
                  {"rank", anomaly.rank ? Json(anomaly.rank->value) : Json()},
                  {"step", anomaly.step ? Json(*anomaly.step) : Json()},
                  {"evidence", evidence},
                  {"message", anomaly.message.text()},
                  {"suggestion", anomaly.suggestion.text()}};
    if (anomaly.cost > TimeNs{0}) entry["cost_per_step_ns"] = anomaly.cost.count();
    if (anomaly.peer) entry["peer"] = anomaly.peer->value;
    if (anomaly.replica) entry["replica"] = *anomaly.replica;
    if (anomaly.chunk) entry["chunk"] = anomaly.chunk->value;
    if (anomaly.op) entry["op"] = opName(*anomaly.op);
    if (anomaly.when) entry["interval_ns"] = {anomaly.when->start.count(), anomaly.when->end.count()};
    return entry;
}

Json analysisJson(const Run& run, const RunReport& report) {
    Json steps = Json::array();
    for (std::size_t i = 0; i < report.steps.size(); ++i)
        steps.push_back(stepJson(report.steps[i], run.steps[i], report.diagnoses[i], report.coverage.has_value()));
    Json document = {{"trace", traceJson(run)},
                     {"schedule", scheduleJson(run)},
                     {"clocks", clocksJson(report.clocks)},
                     {"typical_step", report.steps[report.typical_step].index},
                     {"steps", steps},
                     {"stages", stagesJson(report)},
                     {"anomalies", anomaliesJson(report)}};
    if (report.coverage) document["aadiff"] = checksJson(run, report);
    return document;
}

} // namespace bubblescope::cli
