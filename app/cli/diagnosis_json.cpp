#include "app/cli/diagnosis_output.h"
#include "core/base/median.h"

#include <algorithm>
#include <string>

namespace bubblescope::cli {
namespace {

Json ladderJson(const StepAccounting& account) {
    Json causes = Json::array();
    for (const WaterfallStep& rung : account.waterfall) {
        causes.push_back({{"cause", causeKey(rung.cause)},
                          {"adds_ns", rung.adds.count()},
                          {"alone_ns", rung.alone.count()},
                          {"without_ns", rung.without.count()}});
    }
    return {{"ideal_ns", account.ideal.count()},
            {"causes", causes},
            {"planned_order", account.planned_order},
            {"recorded_transfers", account.recorded_transfers},
            {"estimated_transfers", account.estimated_transfers},
            {"ignored_inputs", account.ignored_inputs},
            {"early_starts", account.early_starts}};
}

std::string_view segmentName(PathSegment::Kind kind) {
    switch (kind) {
    case PathSegment::Kind::Op: return "op";
    case PathSegment::Kind::Transfer: return "transfer";
    case PathSegment::Kind::Delay: return "delay";
    }
    return "";
}

Json pathJson(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    const CriticalPath& path = diagnosis.path;
    Json segments = Json::array();
    std::vector<TimeNs> critical(step.ranks.size(), TimeNs{0});
    for (const PathSegment& segment : path.segments) {
        const UnitPlace& place = diagnosis.place(segment.unit);
        if (segment.kind == PathSegment::Kind::Op) critical[place.rank.index()] += segment.end - segment.start;
        segments.push_back({{"kind", segmentName(segment.kind)},
                            {"rank", place.rank.value},
                            {"op", unitName(step, place)},
                            {"start_ns", segment.start.count()},
                            {"end_ns", segment.end.count()}});
    }
    std::vector<std::vector<TimeNs>> slacks(step.ranks.size());
    for (std::size_t unit = 0; unit < diagnosis.units->size(); ++unit)
        slacks[(*diagnosis.units)[unit].rank.index()].push_back(path.slack[unit]);
    Json ranks = Json::array();
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const auto free = std::ranges::count_if(slacks[r], [](TimeNs slack) { return slack > TimeNs{0}; });
        ranks.push_back({{"rank", r},
                         {"critical_ns", critical[r].count()},
                         {"ops_without_slack", static_cast<std::int64_t>(slacks[r].size()) - free},
                         {"median_slack_ns", median(std::move(slacks[r])).count()}});
    }
    return {{"ops_ns", path.ops.count()},
            {"transfers_ns", path.transfers.count()},
            {"delays_ns", path.delays.count()},
            {"ranks", ranks},
            {"segments", segments}};
}

Json culpritJson(const StepTimeline& step, const StepDiagnosis& diagnosis, const RootCause& culprit) {
    Json idle = Json::array();
    for (const TimeNs time : culprit.idle)
        idle.push_back(time.count());
    Json object = {{"kind", rootCauseKindName(culprit.kind)},
                   {"rank", culprit.rank.value},
                   {"count", culprit.count},
                   {"excess_ns", culprit.excess.count()},
                   {"waits_ns", culprit.waits.count()},
                   {"saves_ns", culprit.saves.count()},
                   {"bubble_saved_ns", idle}};
    if (culprit.peer) object["peer"] = culprit.peer->value;
    if (culprit.chunk) object["chunk"] = culprit.chunk->value;
    if (culprit.unit) object["op"] = unitName(step, diagnosis.place(*culprit.unit));
    return object;
}

Json bubbleJson(const StepTimeline& step, const StepDiagnosis& diagnosis, const AttributedBubble& bubble) {
    const UnitPlace& place = diagnosis.place(bubble.cause->unit);
    Json object = {{"rank", bubble.rank.value},
                   {"start_ns", bubble.start.count()},
                   {"end_ns", bubble.end.count()},
                   {"usual_ns", bubble.usual.count()},
                   {"cause",
                    {{"kind", rootCauseKindName(bubble.cause->kind)},
                     {"rank", place.rank.value},
                     {"op", unitName(step, place)},
                     {"excess_ns", bubble.cause->time.count()}}}};
    object["before"] = bubble.before == kNoUnit ? Json() : Json(unitName(step, diagnosis.place(bubble.before)));
    return object;
}

Json blameJson(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    constexpr std::size_t kMaxBubbles = 32;
    Json ranking = Json::array();
    for (const RootCause& culprit : diagnosis.attribution.ranking)
        ranking.push_back(culpritJson(step, diagnosis, culprit));
    std::vector<const AttributedBubble*> longest;
    for (const AttributedBubble& bubble : diagnosis.attribution.bubbles) {
        if (bubble.cause) longest.push_back(&bubble);
    }
    const auto count = static_cast<std::ptrdiff_t>(std::min(longest.size(), kMaxBubbles));
    std::ranges::partial_sort(
        longest, longest.begin() + count, std::ranges::greater{},
        [](const AttributedBubble* bubble) { return bubble->end - bubble->start - bubble->usual; });
    longest.resize(static_cast<std::size_t>(count));
    Json bubbles = Json::array();
    for (const AttributedBubble* bubble : longest)
        bubbles.push_back(bubbleJson(step, diagnosis, *bubble));
    return {{"usual_ns", diagnosis.attribution.usual.count()},
            {"blamed_ns", diagnosis.attribution.attributed.count()},
            {"unexplained_ns", diagnosis.attribution.unexplained.count()},
            {"ranking", ranking},
            {"bubbles", bubbles}};
}

} // namespace

Json accountingJson(const RankAccounting& account) {
    const auto compute = [&](OpKind kind) { return account.compute[static_cast<std::size_t>(kind)].count(); };
    Json object = {
        {"forward_ns", compute(OpKind::Forward)},          {"backward_ns", compute(OpKind::Backward)},
        {"input_grad_ns", compute(OpKind::BackwardInput)}, {"weight_grad_ns", compute(OpKind::BackwardWeight)},
        {"optimizer_ns", compute(OpKind::Optimizer)},      {"overlapped_ns", account.overlapped.count()}};
    for (std::size_t c = 0; c < kCauseCount; ++c)
        object[std::string(causeKey(static_cast<Cause>(c))) + "_ns"] = account.causes[c].count();
    return object;
}

void addDiagnosis(Json& object, const StepTimeline& step, const StepDiagnosis& diagnosis) {
    object["ladder"] = ladderJson(diagnosis.accounting);
    object["critical_path"] = pathJson(step, diagnosis);
    object["blame"] = blameJson(step, diagnosis);
}

} // namespace bubblescope::cli
