#include "app/cli/diff_output.h"

#include "app/cli/table.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace bubblescope::cli {
namespace {

std::string_view subjectName(Subject subject) {
    switch (subject) {
    case Subject::Step: return "step";
    case Subject::RankBubble: return "rank-bubble";
    case Subject::Bubble: return "bubble";
    case Subject::StageWork: return "stage-work";
    case Subject::OpGroup: return "op-group";
    case Subject::Transfer: return "transfer";
    case Subject::Op: return "op";
    }
    return "";
}

std::string_view phaseName(Phase phase) {
    switch (phase) {
    case Phase::WarmUp: return "warm-up";
    case Phase::Steady: return "steady";
    case Phase::CoolDown: return "cool-down";
    }
    return "";
}

std::string_view payloadName(Payload payload) {
    return payload == Payload::Activation ? "activation" : "gradient";
}

bool isIdle(const Change& change) {
    return change.key.subject == Subject::RankBubble || change.key.subject == Subject::Bubble;
}

Op opOf(const MeasureKey& key) {
    return {key.kind, Microbatch{key.microbatch}, Chunk{key.chunk}, key.sequence};
}

/// "rank 2: F of chunk 0, steady"
std::string describe(const MeasureKey& key) {
    const std::string replica = key.replica == 0 ? "" : fmt::format("replica {}, ", key.replica);
    switch (key.subject) {
    case Subject::Step: return "step";
    case Subject::RankBubble: return fmt::format("{}rank {}: idle time in all", replica, key.rank);
    case Subject::Bubble: return fmt::format("{}rank {}: idle time {}", replica, key.rank, positionName(key.position));
    case Subject::StageWork: return fmt::format("{}stage {}: all its ops", replica, key.stage);
    case Subject::OpGroup:
        return fmt::format("{}rank {}: {} of chunk {}, {}", replica, key.rank, opLetter(key.kind), key.chunk,
                           phaseName(key.phase));
    case Subject::Transfer:
        return fmt::format("{}rank {} to {}: {}", replica, key.rank, key.peer, payloadName(key.payload));
    case Subject::Op:
        return fmt::format("{}rank {}: {}, {}", replica, key.rank, opName(opOf(key)), phaseName(key.phase));
    }
    return {};
}

std::string chanceText(const Change& change) {
    return change.chance ? fmt::format("{:.4f}", *change.chance) : "untested";
}

std::string share(TimeNs change, TimeNs of) {
    if (of.count() == 0) return {};
    return fmt::format(" ({:+.1f} %)", 100 * static_cast<double>(change.count()) / static_cast<double>(of.count()));
}

std::string changesTable(const std::vector<Change>& changes) {
    Table table({{"what", kLeft}, {"A"}, {"B"}, {"change"}, {"a step"}, {"chance"}});
    for (std::size_t i = 0; i < std::min(changes.size(), kMostRows); ++i) {
        const Change& change = changes[i];
        table.row({describe(change.key), formatTime(change.a), formatTime(change.b),
                   formatTimeDelta(change.shift) + share(change.shift, change.a), formatTimeDelta(change.per_step),
                   chanceText(change)});
    }
    std::string text = table.text();
    if (changes.size() > kMostRows)
        text += fmt::format("  … and {} more (--json has all)\n", changes.size() - kMostRows);
    return text;
}

std::string sideText(char name, const Run& run, std::size_t steps) {
    return fmt::format("{}: {}\n   {}, {} compared\n", name, filesText(run.files), scheduleTitle(run.schedule),
                       pluralize(steps, "step"));
}

std::string stepText(const RunComparison& result) {
    const Change& step = result.step;
    std::string out = fmt::format("\nStep time: {} -> {}, {}{}", formatTime(step.a), formatTime(step.b),
                                  formatTimeDelta(step.shift), share(step.shift, step.a));
    if (!result.tested) return out + ", untested\n";
    out += fmt::format(", 95 % between {} and {}\n", formatTimeDelta(step.low), formatTimeDelta(step.high));
    return out + (result.step_changed ? fmt::format("  changed: by chance this happens with {:.4f}\n", *step.chance)
                                      : std::string("  no more than chance gives\n"));
}

std::string testText(const RunComparison& result) {
    if (result.tested) {
        return fmt::format("\nCompared {} groups of ops, links and idle times, and {} single ops; equal runs show\n"
                           "  any change at all with a chance of {:.3g} at most.\n",
                           result.compared_groups, result.compared_ops, result.limits.alpha);
    }
    return "\nToo few steps to tell changes from chance: differences are listed as they are. Record five steps or "
           "more\n  of each run, the first of which is left out.\n";
}

std::string orderText(const RunComparison& result) {
    if (result.order_changes.empty()) return {};
    std::string out = fmt::format("\nThe order changed on {} ranks\n", result.order_changes.size());
    for (std::size_t i = 0; i < std::min(result.order_changes.size(), kMostRows); ++i) {
        const OrderChange& change = result.order_changes[i];
        out += fmt::format("  rank {}, op {}: {} in A, {} in B\n", change.rank.value, change.index,
                           change.a ? opName(*change.a) : "nothing", change.b ? opName(*change.b) : "nothing");
    }
    if (result.order_changes.size() > kMostRows)
        out += fmt::format("  … and {} more ranks\n", result.order_changes.size() - kMostRows);
    return out;
}

Json sideJson(const Run& run, std::size_t steps) {
    Json files = Json::array();
    for (const auto& file : run.files)
        files.push_back(file.string());
    return {{"files", files},
            {"schedule", run.schedule.name},
            {"flavor", run.schedule.flavor},
            {"pp", run.schedule.pp},
            {"microbatches", run.schedule.microbatches},
            {"vpp", run.schedule.vpp},
            {"steps", steps},
            {"problems", problemsJson(run.problems)}};
}

Json changeJson(const Change& change) {
    const MeasureKey& key = change.key;
    Json json = {{"what", subjectName(key.subject)}};
    if (key.subject != Subject::Step) json["replica"] = key.replica;
    if (key.subject == Subject::Transfer) {
        json["from"] = key.rank;
        json["to"] = key.peer;
        json["payload"] = payloadName(key.payload);
    } else if (key.rank >= 0) {
        json["rank"] = key.rank;
    }
    if (key.subject == Subject::StageWork) json["stage"] = key.stage;
    if (key.subject == Subject::Bubble) json["position"] = positionName(key.position);
    if (key.subject == Subject::OpGroup || key.subject == Subject::Op) {
        json["kind"] = std::string(1, opLetter(key.kind));
        json["chunk"] = key.chunk;
        json["phase"] = phaseName(key.phase);
    }
    if (key.subject == Subject::Op) json["op"] = opName(opOf(key));
    json["a_ns"] = change.a.count();
    json["b_ns"] = change.b.count();
    json["change_ns"] = change.shift.count();
    json["low_ns"] = change.low.count();
    json["high_ns"] = change.high.count();
    json["per_step_ns"] = change.per_step.count();
    json["chance"] = change.chance ? Json(*change.chance) : Json();
    return json;
}

Json changesJson(const std::vector<Change>& changes) {
    Json list = Json::array();
    for (const Change& change : changes)
        list.push_back(changeJson(change));
    return list;
}

} // namespace

std::string diffText(const Run& a, const Run& b, const RunComparison& result) {
    std::string out = sideText('A', a, result.steps_a) + sideText('B', b, result.steps_b);
    if (!result.matching_note.empty()) out += fmt::format("  {}\n", result.matching_note.text());
    out += stepText(result) + orderText(result);

    std::vector<Change> causes;
    std::vector<Change> idle;
    std::ranges::partition_copy(result.changes, std::back_inserter(idle), std::back_inserter(causes), isIdle);
    if (!causes.empty())
        out += "\nWhat changed, by what it adds to the ops or links of a step\n" + changesTable(causes);
    if (!result.ops.empty())
        out += "\nSingle ops that changed more than their likes (A and B: time above that of the median one)\n" +
               changesTable(result.ops);
    if (!idle.empty()) out += "\nIdle time that changed\n" + changesTable(idle);
    if (result.tested && causes.empty() && idle.empty() && result.ops.empty())
        out += "\nNothing else changed by more than chance gives.\n";
    out += testText(result);
    if (result.unmatched > 0)
        out += fmt::format("{} measures could not be compared: some step of one run lacks them.\n", result.unmatched);
    return out;
}

Json diffJson(const Run& a, const Run& b, const RunComparison& result) {
    Json order = Json::array();
    for (const OrderChange& change : result.order_changes) {
        order.push_back({{"rank", change.rank.value},
                         {"index", change.index},
                         {"a", change.a ? Json(opName(*change.a)) : Json()},
                         {"b", change.b ? Json(opName(*change.b)) : Json()}});
    }
    static constexpr std::string_view kMatching[] = {"rank", "stage", "total"};
    return {{"a", sideJson(a, result.steps_a)},
            {"b", sideJson(b, result.steps_b)},
            {"matched_by", kMatching[static_cast<std::size_t>(result.matching)]},
            {"note", result.matching_note.text()},
            {"tested", result.tested},
            {"alpha", result.limits.alpha},
            {"least_share", result.limits.least_share},
            {"step", changeJson(result.step)},
            {"step_changed", result.step_changed},
            {"order_changes", order},
            {"changes", changesJson(result.changes)},
            {"ops", changesJson(result.ops)},
            {"compared_groups", result.compared_groups},
            {"compared_ops", result.compared_ops},
            {"unmatched", result.unmatched}};
}

} // namespace bubblescope::cli
