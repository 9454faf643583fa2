#include "core/cost/cost_files.h"

#include "core/base/field.h"
#include "core/base/input_file.h"
#include "core/schedule/dependency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kMaxIds = std::numeric_limits<std::int32_t>::max();

/// Longer than any op, and small enough that sums do not overflow.
constexpr TimeNs kLongestTime{std::numeric_limits<std::int64_t>::max() / 16};

Result<TimeNs> boundedTime(const Json& object, const std::string& key, TimeNs otherwise, const InputPlace& place) {
    BUBBLESCOPE_ASSIGN(const auto time, timeField(object, key, place));
    if (time.value_or(otherwise) > kLongestTime) return place.at(key).error("is too long");
    return time.value_or(otherwise);
}

Result<OpTimes> readStage(const Json& entry, std::size_t index, const InputPlace& place) {
    BUBBLESCOPE_TRY(
        checkKeys(entry,
                  {"stage", "forward", "forward_ns", "backward", "backward_ns", "input_grad", "input_grad_ns",
                   "weight_grad", "weight_grad_ns", "optimizer", "optimizer_ns", "loss", "loss_ns"},
                  place));
    BUBBLESCOPE_ASSIGN(const auto stage, numberField(entry, "stage", kMaxIds, place));
    if (stage && *stage != static_cast<std::int64_t>(index)) {
        return place.at("stage").error(
            fmt::format("is {}, but stages must be listed in order, and this entry is for stage {}", *stage, index));
    }
    BUBBLESCOPE_ASSIGN(const auto forward, timeField(entry, "forward", place));
    if (!forward) return place.error("has no time \"forward\"");
    BUBBLESCOPE_ASSIGN(const auto backward, timeField(entry, "backward", place));
    BUBBLESCOPE_ASSIGN(const auto input_grad, timeField(entry, "input_grad", place));
    BUBBLESCOPE_ASSIGN(const auto weight_grad, timeField(entry, "weight_grad", place));
    BUBBLESCOPE_ASSIGN(const TimeNs optimizer, boundedTime(entry, "optimizer", TimeNs{0}, place));
    BUBBLESCOPE_ASSIGN(const TimeNs loss, boundedTime(entry, "loss", TimeNs{0}, place));
    for (const auto& time : {forward, backward, input_grad, weight_grad}) {
        if (time.value_or(TimeNs{0}) > kLongestTime) return place.error("has a time that is too large");
    }
    auto times = makeOpTimes(*forward, backward, input_grad, weight_grad, optimizer);
    if (!times.ok()) return place.error(fmt::format("does not add up: {}", times.error().message));
    times.value().forward += loss;
    times.value().backward += 2 * loss;
    times.value().input_grad += loss;
    times.value().weight_grad += loss;
    return times;
}

Result<Rank> readRank(const Json& value, int pp, const InputPlace& place) {
    const Json object{{"rank", value}};
    BUBBLESCOPE_ASSIGN(const auto rank, numberField(object, "rank", std::max(pp - 1, 0), place));
    return Rank{static_cast<std::int32_t>(*rank)};
}

Status readLink(const Json& entry, int pp, const InputPlace& place, std::vector<Link>& links) {
    BUBBLESCOPE_TRY(checkKeys(entry, {"from", "to", "between", "latency", "latency_ns", "bandwidth"}, place));
    const bool both = entry.contains("between");
    if (both ? entry.contains("from") || entry.contains("to") || !entry["between"].is_array() ||
                   entry["between"].size() != 2
             : !entry.contains("from") || !entry.contains("to")) {
        return place.error("does not name two ranks, as \"from\" and \"to\" or as \"between\": [r, s]");
    }
    Link link;
    BUBBLESCOPE_ASSIGN(link.from, readRank(both ? entry["between"][0] : entry["from"], pp, place));
    BUBBLESCOPE_ASSIGN(link.to, readRank(both ? entry["between"][1] : entry["to"], pp, place));
    BUBBLESCOPE_ASSIGN(link.latency, timeField(entry, "latency", place));
    BUBBLESCOPE_ASSIGN(link.bytes_per_second, bandwidthField(entry, "bandwidth", place));
    if (!link.latency && !link.bytes_per_second) return place.error("has neither a latency nor a bandwidth");
    const int ahead = (link.to.value - link.from.value + pp) % pp;
    if (ahead == 0 || (ahead != 1 && ahead != pp - 1)) {
        return place.error(fmt::format("is for ranks {} and {}, which exchange no data: only neighbours do",
                                       link.from.value, link.to.value));
    }
    links.push_back(link);
    std::swap(link.from, link.to);
    if (both) links.push_back(link);
    return {};
}

/// Returns a row of either format as an object with named fields.
Result<Json> opFields(const Json& row, const InputPlace& place) {
    if (row.is_object()) return row;
    static constexpr std::array kNames{"kind", "microbatch", "chunk", "rank", "start_ns", "end_ns", "sequence"};
    if (!row.is_array() || row.size() < 5 || row.size() > kNames.size()) {
        return place.error(
            "is not [kind, microbatch, chunk, rank, duration] or [kind, microbatch, chunk, rank, start, end]");
    }
    Json object = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i)
        object[kNames[i]] = row[i];
    if (row.size() == 5) {
        object.erase("start_ns");
        object[row[4].is_string() ? "duration" : "duration_ns"] = row[4];
    }
    return object;
}

Result<Op> readOp(const Json& fields, const InputPlace& place) {
    const auto kind = fields.find("kind");
    const bool letter = kind != fields.end() && kind->is_string() && kind->get_ref<const std::string&>().size() == 1;
    const auto known = letter ? opKindFromLetter(kind->get_ref<const std::string&>().front()) : std::nullopt;
    if (!known) return place.error("does not name a kind of op (F, B, I, W or O)");
    Op op;
    op.kind = *known;
    BUBBLESCOPE_ASSIGN(const auto microbatch, numberField(fields, "microbatch", kMaxIds, place));
    BUBBLESCOPE_ASSIGN(const auto chunk, numberField(fields, "chunk", kMaxIds, place));
    BUBBLESCOPE_ASSIGN(const auto sequence, numberField(fields, "sequence", kMaxSequenceSlices - 1, place));
    if (!microbatch && *known != OpKind::Optimizer) return place.error("does not name a micro-batch");
    op.microbatch.value = static_cast<std::int32_t>(microbatch.value_or(0));
    op.chunk.value = static_cast<std::int32_t>(chunk.value_or(0));
    op.sequence = sequenceSlice(sequence.value_or(0));
    return op;
}

Result<TimeNs> readDuration(const Json& fields, const InputPlace& place) {
    BUBBLESCOPE_ASSIGN(const auto duration, timeField(fields, "duration", place));
    BUBBLESCOPE_ASSIGN(const auto start, timeField(fields, "start", place));
    BUBBLESCOPE_ASSIGN(const auto end, timeField(fields, "end", place));
    if (duration.has_value() == (start && end)) return place.error("needs a duration, or a start and an end");
    const TimeNs time = duration ? *duration : *end - *start;
    if (time.count() < 0) return place.error("ends before it starts");
    if (time > kLongestTime) return place.error("takes too long");
    return time;
}

bool holds(const Schedule& schedule, const OpGraph& graph, Rank rank, const Op& op) {
    if (op.kind == OpKind::Optimizer) {
        return std::ranges::any_of(schedule.ranks[rank.index()],
                                   [](const Op& o) { return o.kind == OpKind::Optimizer; });
    }
    if (!graph.inRange(op)) return false;
    const Stage stage = schedule.stageOf(rank, op.chunk);
    const OpIndex found = graph.find(op.kind, op.microbatch, stage, op.sequence);
    if (found >= 0 && graph.op(found).kind == op.kind) return true;
    // A backward can be listed as a single op or as two halves, however the schedule runs it.
    return op.kind != OpKind::Forward && graph.find(OpKind::Backward, op.microbatch, stage, op.sequence) >= 0;
}

/// Converts backward times to the form that the schedule runs: two halves are added up, and a single op is split
/// evenly.
Status completeBackward(MeasuredTimes& times, Rank rank, const Op& given, const OpGraph& graph, Stage stage,
                        const InputPlace& place) {
    const auto as = [&given](OpKind kind) {
        Op op = given;
        op.kind = kind;
        return op;
    };
    const auto whole = times.op(rank, as(OpKind::Backward));
    const auto first = times.op(rank, as(OpKind::BackwardInput));
    const auto second = times.op(rank, as(OpKind::BackwardWeight));
    if (whole &&
        ((first && *first > *whole) || (second && *second > *whole) || (first && second && *first + *second != *whole)))
        return place.error(
            fmt::format("{}: the times of its halves do not add up to its time", opName(as(OpKind::Backward))));
    if (whole) {
        const TimeNs input = first ? *first : second ? *whole - *second : *whole - *whole / 2;
        times.setOp(rank, as(OpKind::BackwardInput), input);
        times.setOp(rank, as(OpKind::BackwardWeight), *whole - input);
        return {};
    }
    if (first && second) {
        times.setOp(rank, as(OpKind::Backward), *first + *second);
        return {};
    }
    const OpIndex runs = graph.find(OpKind::Backward, given.microbatch, stage, given.sequence);
    if (graph.op(runs).kind != OpKind::Backward) return {};
    return place.error(
        fmt::format("has only one half of {}, which the schedule runs as a whole", opName(as(OpKind::Backward))));
}

} // namespace

Result<std::vector<OpTimes>> stageTimesFrom(std::string_view text, const std::string& where) {
    BUBBLESCOPE_ASSIGN(
        const WrittenInput input,
        inputFrom(text, where, "stages",
                  R"(stage times look like {"stages": [{"forward": "5ms", "backward": "10ms"}, …]}, or CSV)"));
    BUBBLESCOPE_TRY(checkKeys(input.document, {"stages"}, input.place));
    BUBBLESCOPE_ASSIGN(const Json* const list, listField(input.document, "stages", input.place));
    std::vector<OpTimes> stages;
    for (std::size_t i = 0; i < list->size(); ++i) {
        BUBBLESCOPE_ASSIGN(const OpTimes times, readStage((*list)[i], i, input.row("stages", i)));
        stages.push_back(times);
    }
    return stages;
}

Result<std::vector<Link>> linksFrom(std::string_view text, const std::string& where, int pp) {
    pp = std::max(pp, 1); // an empty schedule has no ranks and is rejected later
    BUBBLESCOPE_ASSIGN(
        const WrittenInput input,
        inputFrom(text, where, "links",
                  R"(links look like {"links": [{"from": 0, "to": 1, "latency": "5us", "bandwidth": "50GB/s"}, …]}, )"
                  R"(or CSV)"));
    BUBBLESCOPE_TRY(checkKeys(input.document, {"links"}, input.place));
    BUBBLESCOPE_ASSIGN(const Json* const list, listField(input.document, "links", input.place));
    std::vector<Link> links;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::size_t before = links.size();
        BUBBLESCOPE_TRY(readLink((*list)[i], pp, input.row("links", i), links));
        for (std::size_t k = before; k < links.size(); ++k) {
            for (std::size_t other = 0; other < k; ++other) {
                if (links[other].from == links[k].from && links[other].to == links[k].to)
                    return input.row("links", i).error("repeats a link");
            }
        }
    }
    return links;
}

Result<MeasuredTimes> opTimesFrom(std::string_view text, const std::string& where, const Schedule& schedule,
                                  const OpGraph& graph) {
    BUBBLESCOPE_ASSIGN(
        const WrittenInput input,
        inputFrom(text, where, "ops",
                  fmt::format(R"(op times look like {{"ops": [["F", microbatch, chunk, rank, "5ms"], …]}}, )"
                              R"(the output of `simulate {} {}`, or CSV)",
                              optionOf(Field("json")), optionOf(Field("ops")))));
    BUBBLESCOPE_ASSIGN(const Json* const list, listField(input.document, "ops", input.place));
    MeasuredTimes times;
    std::vector<std::tuple<Rank, Op, std::size_t>> backwards; // the last entry is the row
    for (std::size_t i = 0; i < list->size(); ++i) {
        const InputPlace place = input.row("ops", i);
        BUBBLESCOPE_ASSIGN(const Json fields, opFields((*list)[i], place));
        BUBBLESCOPE_TRY(checkKeys(
            fields,
            {"kind", "microbatch", "chunk", "rank", "sequence", "duration", "duration_ns", "start_ns", "end_ns"},
            place));
        BUBBLESCOPE_ASSIGN(const Op op, readOp(fields, place));
        if (!fields.contains("rank")) return place.error("does not name a rank");
        BUBBLESCOPE_ASSIGN(const Rank rank, readRank(fields["rank"], schedule.pp, place));
        if (!holds(schedule, graph, rank, op)) {
            return place.error(
                fmt::format("is for {}, which rank {} of this schedule does not run", opName(op), rank.value));
        }
        if (op.kind != OpKind::Optimizer && times.op(rank, op))
            return place.error(fmt::format("lists {} on rank {} twice", opName(op), rank.value));
        BUBBLESCOPE_ASSIGN(const TimeNs duration, readDuration(fields, place));
        times.setOp(rank, op, duration);
        if (op.kind != OpKind::Forward && op.kind != OpKind::Optimizer) backwards.emplace_back(rank, op, i);
    }
    for (const auto& [rank, op, row] : backwards)
        BUBBLESCOPE_TRY(
            completeBackward(times, rank, op, graph, schedule.stageOf(rank, op.chunk), input.row("ops", row)));
    return times;
}

Result<std::vector<OpTimes>> readStageTimes(const std::string& file) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file));
    return stageTimesFrom(text, file);
}

Result<std::vector<Link>> readLinks(const std::string& file, int pp) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file));
    return linksFrom(text, file, pp);
}

Result<MeasuredTimes> readOpTimes(const std::string& file, const Schedule& schedule, const OpGraph& graph) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file));
    return opTimesFrom(text, file, schedule, graph);
}

} // namespace bubblescope
