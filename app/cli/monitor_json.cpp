#include "app/cli/analysis_output.h"
#include "app/cli/monitor_output.h"

namespace bubblescope::cli {
namespace {

using live::LiveAnalyzer;
using live::LiveEvent;
using live::LiveRank;
using live::LiveStep;

Json checksJson(const live::CheckCounts& checks) {
    return {{"planned", checks.planned()},
            {"equal", checks.equal},
            {"mismatch", checks.mismatch},
            {"aborted", checks.aborted},
            {"skipped", checks.skipped},
            {"digests", checks.digests},
            {"coverage", checks.coverage() ? Json(*checks.coverage()) : Json()},
            {"time_ns", checks.time.count()}};
}

Json rankJson(const LiveRank& rank) {
    Json document = {{"rank", rank.rank.value}, {"replica", rank.replica}, {"state", rankStateName(rank.state)},
                     {"step", rank.step},       {"host", rank.host},       {"pid", rank.pid}};
    if (!rank.reason.empty()) document["why"] = rank.reason;
    return document;
}

Json stepJson(const LiveStep& step, const LiveAnalyzer& analyzer) {
    Json document = {{"step", step.index}, {"complete", step.complete}};
    if (step.complete) {
        document["wall_ns"] = step.wall.count();
        document["bubble_rate"] = step.bubble_rate;
        document["expected_bubble_rate"] = step.expected_rate ? Json(*step.expected_rate) : Json();
        document["busy_ns"] = step.busy.count();
        document["bubble_ns"] = step.bubble.count();
        document["expected_bubble_ns"] = step.expected_bubble ? Json(step.expected_bubble->count()) : Json();
        Json causes = Json::object();
        for (std::size_t cause = 0; cause < kCauseCount; ++cause)
            causes[std::string(causeKey(static_cast<Cause>(cause))) + "_ns"] = step.causes[cause].count();
        document["causes"] = std::move(causes);
    } else {
        document["fault"] = step.fault;
    }
    Json unknown = Json::array();
    for (const auto& [replica, rank] : step.unknown)
        unknown.push_back({{"rank", rank.value}, {"replica", replica}});
    document["unknown"] = std::move(unknown);
    if (step.checks.planned() > 0) document["aadiff"] = checksJson(step.checks);
    Json mismatches = Json::array();
    for (const auto& [who, what] : step.mismatches)
        mismatches.push_back({{"rank", who}, {"check", what}});
    if (!mismatches.empty()) document["mismatches"] = std::move(mismatches);
    constexpr std::size_t kTop = 3;
    Json anomalies = Json::array();
    for (const live::LiveAnomaly& anomaly : analyzer.anomalies()) {
        if (anomalies.size() < kTop) anomalies.push_back(anomaly.anomaly.message.text());
    }
    document["anomalies"] = std::move(anomalies);
    return document;
}

Json runJson(const RunInfo& info) {
    return {{"schedule", info.schedule},
            {"flavor", info.flavor},
            {"backend", info.backend},
            {"pp", info.pp},
            {"dp", info.dp},
            {"tp", info.tp},
            {"vpp", info.vpp},
            {"microbatches", info.microbatches},
            {"faults", info.faults}};
}

void append(Json& document, const Json& more) {
    for (const auto& [name, value] : more.items())
        document[name] = value;
}

} // namespace

Json eventJson(const LiveEvent& event, const LiveAnalyzer& analyzer) {
    Json document;
    switch (event.kind) {
    case LiveEvent::Kind::RunBegan:
        document["event"] = "run";
        append(document, runJson(*analyzer.info()));
        break;
    case LiveEvent::Kind::RankChanged:
        document["event"] = "rank";
        append(document, rankJson(event.rank));
        break;
    case LiveEvent::Kind::StepClosed:
        document["event"] = "step";
        for (auto step = analyzer.steps().rbegin(); step != analyzer.steps().rend(); ++step) {
            if (step->index != event.step) continue;
            append(document, stepJson(*step, analyzer));
            break;
        }
        break;
    case LiveEvent::Kind::AnomalyFound:
        document["event"] = "anomaly";
        document["found_at"] = event.anomaly->found_at;
        append(document, anomalyJson(event.anomaly->anomaly));
        break;
    case LiveEvent::Kind::Mismatch:
        document["event"] = "mismatch";
        document["step"] = event.step;
        document["message"] = event.text;
        break;
    case LiveEvent::Kind::RunEnded:
        document["event"] = "run_ended";
        document["last_step"] = event.step;
        break;
    }
    return document;
}

Json liveSummaryJson(const LiveAnalyzer& analyzer) {
    const live::LiveCounts counts = analyzer.counts();
    const live::Latency& latency = analyzer.latency();
    Json ranks = Json::array();
    for (const LiveRank& rank : analyzer.ranks()) {
        Json entry = rankJson(rank);
        entry["records"] = rank.records;
        entry["dropped"] = rank.dropped;
        entry["unheard"] = rank.undelivered;
        entry["busy_ns"] = rank.busy.count();
        entry["bubble_ns"] = rank.bubble.count();
        ranks.push_back(std::move(entry));
    }
    Json document = {{"event", "end"},
                     {"run_ended", analyzer.runEnded()},
                     {"steps", counts.steps},
                     {"incomplete", counts.incomplete},
                     {"ranks", std::move(ranks)},
                     {"aadiff", checksJson(analyzer.checks())}};
    document["counts"] = {{"bytes", counts.bytes},
                          {"packets", counts.packets},
                          {"slices", counts.slices},
                          {"torn", counts.torn},
                          {"damaged", counts.damaged},
                          {"duplicates", counts.duplicates},
                          {"out_of_order", counts.out_of_order},
                          {"late", counts.late},
                          {"bad", counts.bad},
                          {"dropped", counts.dropped},
                          {"unheard", counts.undelivered}};
    document["latency"] = {{"ops", latency.count()},
                           {"p50_ns", latency.quantile(0.5).count()},
                           {"p99_ns", latency.quantile(0.99).count()},
                           {"max_ns", latency.longest().count()}};
    return document;
}

} // namespace bubblescope::cli
