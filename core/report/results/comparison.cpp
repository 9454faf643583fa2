#include "core/report/results/comparison.h"

#include "core/report/results/document_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::report {
namespace {

constexpr std::size_t kMaxRows = 20; ///< in text

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
std::string subjectText(const MeasureKey& key) {
    const std::string replica = key.replica == 0 ? "" : fmt::format("replica {}, ", key.replica);
    switch (key.subject) {
    case Subject::Step: return "step";
    case Subject::RankBubble: return fmt::format("{}rank {}: total idle time", replica, key.rank);
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

/// " (+1.2 %)"
std::string relative(TimeNs change, TimeNs of) {
    if (of.count() == 0) return {};
    return fmt::format(" ({:+.1f} %)", 100 * static_cast<double>(change.count()) / static_cast<double>(of.count()));
}

// ---- Changes ----

/// A change's members in JSON: those that its subject has.
Value::Object changeOf(const Change& change) {
    const MeasureKey& key = change.key;
    Value::Object object{{"what", subjectName(key.subject)}};
    if (key.subject != Subject::Step) object.push_back({"replica", key.replica});
    if (key.subject == Subject::Transfer) {
        object.push_back({"from", key.rank});
        object.push_back({"to", key.peer});
        object.push_back({"payload", payloadName(key.payload)});
    } else if (key.rank >= 0) {
        object.push_back({"rank", key.rank});
    }
    if (key.subject == Subject::StageWork) object.push_back({"stage", key.stage});
    if (key.subject == Subject::Bubble) object.push_back({"position", positionName(key.position)});
    if (key.subject == Subject::OpGroup || key.subject == Subject::Op) {
        object.push_back({"kind", std::string(1, opLetter(key.kind))});
        object.push_back({"chunk", key.chunk});
        object.push_back({"phase", phaseName(key.phase)});
    }
    if (key.subject == Subject::Op) object.push_back({"op", opName(opOf(key))});
    object.push_back({"a_ns", change.a});
    object.push_back({"b_ns", change.b});
    object.push_back({"change_ns", change.shift});
    object.push_back({"low_ns", change.low});
    object.push_back({"high_ns", change.high});
    object.push_back({"per_step_ns", change.per_step});
    object.push_back({"chance", change.chance});
    return object;
}

Value changesOf(const std::vector<Change>& changes) {
    Value::List list;
    for (const Change& change : changes)
        list.emplace_back(changeOf(change));
    return list;
}

void addChanges(Section& document, std::string heading, const std::vector<Change>& changes) {
    if (changes.empty()) return;
    Section section;
    section.heading = std::move(heading);
    Table table(
        {}, {shown("what", Align::Left), shown("A"), shown("B"), shown("change"), shown("per step"), shown("p-value")});
    table.most_in_text = kMaxRows;
    for (const Change& change : changes) {
        table.row(subjectText(change.key), change.a, change.b,
                  formatTimeDelta(change.shift) + relative(change.shift, change.a), Cell(change.per_step, Look::Delta),
                  change.chance ? fmt::format("{:.2g}", *change.chance) : std::string("untested"));
    }
    section.add(std::move(table));
    document.add(std::move(section));
}

// ---- For people ----

void addSide(Section& document, char name, const Run& run, const StepSelection& selection) {
    document.line(fmt::format("{}: {}", name, filesText(run.files)));
    document.line(fmt::format("   {}, {}", scheduleTitle(run.schedule), selection.summary().text()));
}

void addStep(Section& document, const RunComparison& result) {
    const Change& step = result.step;
    std::string text = fmt::format("\nStep time: {} -> {}, {}{}", formatTime(step.a), formatTime(step.b),
                                   formatTimeDelta(step.shift), relative(step.shift, step.a));
    if (!result.tested) {
        document.line(text + ", untested");
        return;
    }
    document.line(fmt::format("{}, 95 % confidence interval: {} to {}", text, formatTimeDelta(step.low),
                              formatTimeDelta(step.high)));
    document.line(result.step_changed ? fmt::format("  changed (p = {:.2g})", *step.chance)
                                      : std::string("  no significant change"));
}

void addOrder(Section& document, const RunComparison& result) {
    if (result.order_changes.empty()) return;
    Section section;
    section.heading = fmt::format("The order changed on {} ranks", result.order_changes.size());
    for (std::size_t i = 0; i < std::min(result.order_changes.size(), kMaxRows); ++i) {
        const OrderChange& change = result.order_changes[i];
        section.line(fmt::format("  rank {}, op {}: {} in A, {} in B", change.rank.value, change.index,
                                 change.a ? opName(*change.a) : "nothing", change.b ? opName(*change.b) : "nothing"));
    }
    if (result.order_changes.size() > kMaxRows)
        section.line(fmt::format("  … and {} more ranks", result.order_changes.size() - kMaxRows));
    document.add(std::move(section));
}

void addTest(Section& document, const RunComparison& result) {
    if (result.tested) {
        document.line(fmt::format("\nCompared {} groups of ops, links and idle times, and {} single ops; for identical "
                                  "runs, the\n  probability of reporting any change is at most {:.3g}.",
                                  result.compared_groups, result.compared_ops, result.limits.alpha));
        return;
    }
    document.line("\nToo few steps for a significance test: all differences are listed. Record at least five steps of "
                  "each run,\n  after some warm-up steps.");
}

void addForPeople(Section& document, const Run& a, const Run& b, const RunComparison& result) {
    addSide(document, 'A', a, result.selection_a);
    addSide(document, 'B', b, result.selection_b);
    if (!result.matching_note.empty()) document.line("  ", result.matching_note.text());
    addStep(document, result);
    addOrder(document, result);
    std::vector<Change> causes;
    std::vector<Change> idle;
    std::ranges::partition_copy(result.changes, std::back_inserter(idle), std::back_inserter(causes), isIdle);
    addChanges(document, "Changes, by the time they add to the ops or links of a step", causes);
    addChanges(document, "Single ops that changed more than similar ops (A and B: time above the median op)",
               result.ops);
    addChanges(document, "Idle time that changed", idle);
    if (result.tested && causes.empty() && idle.empty() && result.ops.empty())
        document.line("\nNo other significant changes.");
    addTest(document, result);
    if (result.unmatched > 0) {
        document.line(
            fmt::format("{} measures could not be compared: they are missing in a step of one run.", result.unmatched));
    }
}

// ---- For programs ----

Section sideData(std::string key, const Run& run, std::size_t steps, const StepSelection& selection) {
    Section side;
    side.key = std::move(key);
    side.data("files", filesOf(run.files));
    addOrder(side, run.schedule);
    side.data("steps", steps);
    addSelection(side, selection);
    side.add(problemsTable(run.problems, Reader::Programs));
    return side;
}

void addForPrograms(Section& document, const Run& a, const Run& b, const RunComparison& result) {
    static constexpr std::string_view kMatching[] = {"rank", "stage", "total"};
    document.add(sideData("a", a, result.steps_a, result.selection_a));
    document.add(sideData("b", b, result.steps_b, result.selection_b));
    document.data("matched_by", kMatching[static_cast<std::size_t>(result.matching)]);
    document.data("note", result.matching_note);
    document.data("tested", result.tested);
    document.data("alpha", result.limits.alpha);
    document.data("least_share", result.limits.least_share);
    document.data("step", changeOf(result.step));
    document.data("step_changed", result.step_changed);
    Table order("order_changes", {data("rank"), data("index"), data("a"), data("b")});
    for (const OrderChange& change : result.order_changes) {
        order.row(change.rank, change.index, change.a ? Value(opName(*change.a)) : Value(),
                  change.b ? Value(opName(*change.b)) : Value());
    }
    document.add(std::move(order));
    document.data("changes", changesOf(result.changes));
    document.data("ops", changesOf(result.ops));
    document.data("compared_groups", result.compared_groups);
    document.data("compared_ops", result.compared_ops);
    document.data("unmatched", result.unmatched);
}

} // namespace

Document comparisonDocument(const Run& a, const Run& b, const RunComparison& comparison, Reader reader) {
    Document document;
    if (reader == Reader::Programs)
        addForPrograms(document, a, b, comparison);
    else
        addForPeople(document, a, b, comparison);
    return document;
}

} // namespace bubblescope::report
