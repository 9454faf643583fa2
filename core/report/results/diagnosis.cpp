#include "core/report/results/analysis_parts.h"

#include "core/analysis/accounting/accounting.h"
#include "core/base/median.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace bubblescope::report {
namespace {

// ---- Where the time went ----

/// An entry of every rank's accounting.
struct AccountEntry {
    std::string name;
    std::string_view colour;
    std::vector<TimeNs> times; ///< per rank
};

struct OpEntry {
    OpKind kind;
    const char* name;
    std::string_view colour;
};
constexpr std::array kOpEntries{OpEntry{OpKind::Forward, "forward (F)", colours::kForward},
                                OpEntry{OpKind::Backward, "backward (B)", colours::kBackward},
                                OpEntry{OpKind::BackwardInput, "input gradient (I)", colours::kBackwardInput},
                                OpEntry{OpKind::BackwardWeight, "weight gradient (W)", colours::kBackwardWeight},
                                OpEntry{OpKind::Optimizer, "optimizer (O)", colours::kOptimizer}};

/// Greys for the schedule's part, warm colours for avoidable parts.
constexpr std::array<std::string_view, kCauseCount> kCauseColours{"#9aa3ad", "#d64541", "#a8323e", "#ef8a7d",
                                                                  "#b58900", "#8e5ea2", "#c04f8c", "#6c4ab6",
                                                                  "#4aa3a0", "#a0522d", "#59626d"};

/// Entries that are non-zero on some rank.
std::vector<AccountEntry> entriesOf(const StepAccounting& account) {
    std::vector<AccountEntry> entries;
    const auto add = [&](std::string name, std::string_view colour, auto time) {
        AccountEntry entry{std::move(name), colour, {}};
        for (const RankAccounting& rank : account.ranks)
            entry.times.push_back(time(rank));
        if (std::ranges::any_of(entry.times, [](TimeNs each) { return each != TimeNs{0}; }))
            entries.push_back(std::move(entry));
    };
    for (const OpEntry& op : kOpEntries) {
        const auto index = static_cast<std::size_t>(op.kind);
        add(op.name, op.colour, [index](const RankAccounting& rank) { return rank.compute[index]; });
    }
    add("overlapped pairs", "#5f8f7a", [](const RankAccounting& rank) { return rank.overlapped; });
    for (std::size_t c = 0; c < kCauseCount; ++c) {
        add(std::string(causeName(static_cast<Cause>(c))), kCauseColours[c],
            [c](const RankAccounting& rank) { return rank.causes[c]; });
    }
    return entries;
}

/// Subtracts negative parts from the parts before them, so that each bar is as long as the step.
void takeOffNegative(std::vector<Bars::Part>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (std::size_t k = i; k-- > 0 && parts[i].time < TimeNs{0};) {
            const TimeNs taken = std::min(-parts[i].time, std::max(TimeNs{0}, parts[k].time));
            parts[k].time -= taken;
            parts[i].time += taken;
        }
    }
}

Bars accountBars(const StepAccounting& account, const std::vector<AccountEntry>& entries) {
    constexpr std::size_t kMaxBars = 64;
    Bars bars;
    for (std::size_t r = 0; r < std::min(kMaxBars, account.ranks.size()); ++r) {
        Bars::Bar& bar = bars.list.emplace_back();
        bar.name = fmt::format("rank {}", account.ranks[r].rank.value);
        for (const AccountEntry& entry : entries)
            bar.parts.push_back({entry.name, entry.colour, entry.times[r]});
        takeOffNegative(bar.parts);
    }
    return bars;
}

/// Only the requested ranks.
StepAccounting shownRanks(StepAccounting account, const StepRequest& request) {
    std::erase_if(account.ranks.edit(), [&](const RankAccounting& rank) { return !request.shows(rank.rank); });
    return account;
}

Section accountSection(const StepAccounting& account, TimeNs wall, Reader reader) {
    Section section;
    section.heading = "Accounting";
    section.note = "each rank's time, and what lengthened its bubble (negative: shortened it)";
    std::vector<AccountEntry> entries = entriesOf(account);
    if (reader == Reader::Page) section.add(accountBars(account, entries));
    Matrix matrix;
    matrix.corner = "rank";
    for (const RankAccounting& rank : account.ranks)
        matrix.columns.push_back(fmt::format("{}", rank.rank.value));
    for (AccountEntry& entry : entries)
        matrix.rows.push_back({std::move(entry.name), std::move(entry.times)});
    matrix.sums = {"wall time", std::vector<TimeNs>(account.ranks.size(), wall)};
    section.add(std::move(matrix));
    return section;
}

// ---- Causes of its length ----

Section waterfallSection(const StepAccounting& account, TimeNs wall, bool people) {
    Section section;
    section.key = "ladder";
    section.heading = "Causes of the longer step";
    section.note = "adds: cumulative; alone: in isolation; if removed: time saved";
    section.data("ideal_ns", account.ideal);
    Table table("causes", {data("cause"), shown("", Align::Left), column("adds_ns", "adds"),
                           column("alone_ns", "alone"), column("without_ns", "if removed")});
    if (people)
        table.row(absent(), "ideal step", Cell(account.ideal).withBar(fractionOf(account.ideal, wall)), absent(),
                  absent());
    for (const WaterfallStep& step : account.waterfall) {
        const bool nothing = step.adds == TimeNs{0} && step.alone == TimeNs{0} && step.without == TimeNs{0};
        if (people && nothing) continue;
        table.row(causeKey(step.cause), causeName(step.cause),
                  Cell(step.adds, Look::Delta).withBar(fractionOf(step.adds, wall)), Cell(step.alone, Look::Delta),
                  Cell(step.without, Look::Delta));
    }
    section.add(std::move(table));
    if (people) {
        for (const Sentence& note : accountingNotes(account))
            section.line("  ", note.text());
    }
    section.data("planned_order", account.planned_order);
    section.data("recorded_transfers", account.recorded_transfers);
    section.data("estimated_transfers", account.estimated_transfers);
    section.data("ignored_inputs", account.ignored_inputs);
    section.data("early_starts", account.early_starts);
    return section;
}

// ---- The critical path ----

std::string_view segmentName(PathSegment::Kind kind) {
    switch (kind) {
    case PathSegment::Kind::Op: return "op";
    case PathSegment::Kind::Transfer: return "transfer";
    case PathSegment::Kind::Delay: return "delay";
    }
    return "";
}

/// The part of the critical path in each rank's ops.
std::vector<TimeNs> criticalTimes(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    std::vector<TimeNs> times(step.ranks.size(), TimeNs{0});
    for (const PathSegment& segment : diagnosis.path.segments) {
        if (segment.kind == PathSegment::Kind::Op)
            times[diagnosis.place(segment.unit).rank.index()] += segment.end - segment.start;
    }
    return times;
}

void addPathLine(Section& section, const CriticalPath& path, const std::vector<TimeNs>& critical) {
    const auto most = std::ranges::max_element(critical);
    if (most == critical.end() || *most == TimeNs{0}) return;
    const auto delayed = [&](Cause cause) { return path.delayed[indexOf(cause)]; };
    std::string others;
    for (const Cause cause : {Cause::Peer, Cause::Replay, Cause::Unknown}) {
        if (delayed(cause) != TimeNs{0}) others += fmt::format(", {} {}", formatTime(delayed(cause)), causeName(cause));
    }
    section.line(fmt::format("Critical path: {} in ops, {} in transfers, {} in late starts{}; {} on rank {}",
                             formatTime(path.ops), formatTime(path.transfers + delayed(Cause::Communication)),
                             formatTime(delayed(Cause::LateStart)), others, formatTime(*most),
                             most - critical.begin()));
    std::get<Line>(section.blocks.back()).apart = true;
}

Table pathRanks(const StepTimeline& step, const StepDiagnosis& diagnosis, const std::vector<TimeNs>& critical) {
    std::vector<std::vector<TimeNs>> slacks(step.ranks.size());
    for (std::size_t unit = 0; unit < diagnosis.units->size(); ++unit)
        slacks[(*diagnosis.units)[unit].rank.index()].push_back(diagnosis.path.slack[unit]);
    Table table("ranks", {data("rank"), data("critical_ns"), data("ops_without_slack"), data("median_slack_ns")});
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const auto none = std::ranges::count_if(slacks[r], [](TimeNs slack) { return slack <= TimeNs{0}; });
        table.row(r, critical[r], none, median(std::move(slacks[r])));
    }
    return table;
}

Table pathSegments(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    Table table("segments", {data("kind"), data("rank"), data("op"), data("start_ns"), data("end_ns")});
    for (const PathSegment& segment : diagnosis.path.segments) {
        const UnitPlace& place = diagnosis.place(segment.unit);
        table.row(segmentName(segment.kind), place.rank, unitName(step, place), segment.start, segment.end);
    }
    return table;
}

Section pathSection(const StepTimeline& step, const StepDiagnosis& diagnosis, bool people) {
    Section section;
    section.key = "critical_path";
    const CriticalPath& path = diagnosis.path;
    const std::vector<TimeNs> critical = criticalTimes(step, diagnosis);
    if (people) {
        addPathLine(section, path, critical);
        return section;
    }
    section.data("ops_ns", path.ops);
    section.data("transfers_ns", path.transfers);
    section.data("delays_ns", path.delays);
    for (const Cause cause : {Cause::Communication, Cause::Peer, Cause::Replay, Cause::LateStart, Cause::Unknown})
        section.data(fmt::format("{}_ns", causeKey(cause)), path.delayed[indexOf(cause)]);
    section.add(pathRanks(step, diagnosis, critical));
    section.add(pathSegments(step, diagnosis));
    return section;
}

// ---- Who is to blame ----

Table blameRanking(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    const StepAttribution& blame = diagnosis.attribution;
    Table table("ranking",
                {shown("cause", Align::Left), data("kind"), data("rank"), column("count", "times"),
                 column("excess_ns", "excess"), column("waits_ns", "waits caused"), shown("mostly", Align::Left),
                 column("saves_ns", "step gain"), data("bubble_saved_ns"), data("peer"), data("chunk"), data("op")});
    for (const RootCause& cause : blame.ranking) {
        const auto most = std::ranges::max_element(cause.idle);
        table.row(rootCauseName(step, diagnosis, cause), rootCauseKindName(cause.kind), cause.rank, cause.count,
                  cause.excess, Cell(cause.waits).withBar(fractionOf(cause.waits, blame.attributed)),
                  *most > TimeNs{0} ? fmt::format("rank {} ({})", most - cause.idle.begin(), formatTime(*most)) : "",
                  Cell(cause.saves).withBar(fractionOf(cause.saves, step.wall())), Value(cause.idle), ifAny(cause.peer),
                  ifAny(cause.chunk),
                  cause.unit ? Value(unitName(step, diagnosis.place(*cause.unit))) : Value(Value::Absent{}));
    }
    return table;
}

/// The longest bubbles with a cause.
Table blamedBubbles(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    constexpr std::size_t kMaxBubbles = 32;
    const AttributedBubbles& all = diagnosis.attribution.bubbles;
    std::vector<AttributedBubbles::Iterator> longest;
    for (auto bubble = all.begin(); bubble != all.end(); ++bubble) {
        if ((*bubble).cause) longest.push_back(bubble);
    }
    const auto longer = [](const AttributedBubbles::Iterator& at) {
        const AttributedBubble bubble = *at;
        return bubble.end - bubble.start - bubble.usual;
    };
    const auto count = static_cast<std::ptrdiff_t>(std::min(longest.size(), kMaxBubbles));
    std::ranges::partial_sort(longest, longest.begin() + count, std::ranges::greater{}, longer);
    longest.resize(static_cast<std::size_t>(count));
    Table table("bubbles",
                {data("rank"), data("start_ns"), data("end_ns"), data("usual_ns"), data("cause"), data("before")});
    for (const AttributedBubbles::Iterator& at : longest) {
        const AttributedBubble bubble = *at;
        const UnitPlace& place = diagnosis.place(bubble.cause->unit);
        table.row(bubble.rank, bubble.start, bubble.end, bubble.usual,
                  Value::Object{{"kind", rootCauseKindName(bubble.cause->kind)},
                                {"rank", place.rank},
                                {"op", unitName(step, place)},
                                {"excess_ns", bubble.cause->time}},
                  bubble.before == kNoUnit ? Value() : Value(unitName(step, diagnosis.place(bubble.before))));
    }
    return table;
}

Section blameSection(const StepTimeline& step, const StepDiagnosis& diagnosis, bool people) {
    const StepAttribution& blame = diagnosis.attribution;
    Section section;
    section.key = "blame";
    section.heading = "Causes of waiting";
    section.note = fmt::format("all ranks waited {} in total, {} longer than with typical times",
                               formatTime(blame.usual + blame.attributed + blame.unexplained),
                               formatTime(blame.attributed + blame.unexplained));
    section.data("usual_ns", blame.usual);
    section.data("blamed_ns", blame.attributed);
    section.data("unexplained_ns", blame.unexplained);
    if (people && blame.ranking.empty()) return section;
    section.add(blameRanking(step, diagnosis));
    if (!people) section.add(blamedBubbles(step, diagnosis));
    return section;
}

} // namespace

void addDiagnosis(Section& section, const StepTimeline& step, const StepDiagnosis& diagnosis,
                  const StepRequest& request, Reader reader) {
    const bool people = reader != Reader::Programs;
    if (people) section.add(accountSection(shownRanks(diagnosis.accounting, request), step.wall(), reader));
    section.add(waterfallSection(diagnosis.accounting, step.wall(), people));
    section.add(pathSection(step, diagnosis, people));
    section.add(blameSection(step, diagnosis, people));
}

Value accountingOf(const RankAccounting& account) {
    const auto compute = [&](OpKind kind) { return account.compute[static_cast<std::size_t>(kind)]; };
    Value::Object object{
        {"forward_ns", compute(OpKind::Forward)},          {"backward_ns", compute(OpKind::Backward)},
        {"input_grad_ns", compute(OpKind::BackwardInput)}, {"weight_grad_ns", compute(OpKind::BackwardWeight)},
        {"optimizer_ns", compute(OpKind::Optimizer)},      {"overlapped_ns", account.overlapped}};
    for (std::size_t c = 0; c < kCauseCount; ++c)
        object.push_back({std::string(causeKey(static_cast<Cause>(c))) + "_ns", account.causes[c]});
    return object;
}

} // namespace bubblescope::report
