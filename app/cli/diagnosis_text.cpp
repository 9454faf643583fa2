#include "app/cli/diagnosis_output.h"
#include "app/cli/table.h"
#include "core/analysis/accounting/accounting.h"
#include "core/analysis/anomalies/anomaly.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace bubblescope::cli {
namespace {

/// An entry of every rank's accounting.
struct Entry {
    std::string name;
    std::vector<TimeNs> times; ///< per rank
};

std::vector<Entry> entriesOf(const StepAccounting& account) {
    std::vector<Entry> entries;
    const auto add = [&](std::string name, auto time) {
        Entry entry{std::move(name), {}};
        for (const RankAccounting& rank : account.ranks)
            entry.times.push_back(time(rank));
        if (std::ranges::any_of(entry.times, [](TimeNs each) { return each != TimeNs{0}; }))
            entries.push_back(std::move(entry));
    };
    for (const auto& [kind, name] : {std::pair{OpKind::Forward, "forward (F)"},
                                     {OpKind::Backward, "backward (B)"},
                                     {OpKind::BackwardInput, "input gradient (I)"},
                                     {OpKind::BackwardWeight, "weight gradient (W)"},
                                     {OpKind::Optimizer, "optimizer (O)"}}) {
        const auto index = static_cast<std::size_t>(kind);
        add(name, [index](const RankAccounting& rank) { return rank.compute[index]; });
    }
    add("overlapped pairs", [](const RankAccounting& rank) { return rank.overlapped; });
    for (std::size_t c = 0; c < kCauseCount; ++c)
        add(std::string(causeName(static_cast<Cause>(c))), [c](const RankAccounting& rank) { return rank.causes[c]; });
    return entries;
}

/// A column per rank where that fits a terminal, else the mean and the ranks at both ends.
std::string accountText(const StepAccounting& account, TimeNs wall) {
    constexpr std::size_t kMaxColumns = 5;
    const std::vector<Entry> entries = entriesOf(account);
    const auto ranks = static_cast<std::int64_t>(account.ranks.size());
    const bool wide = account.ranks.size() > kMaxColumns;
    std::vector<Table::Column> columns{{"", kLeft}};
    if (wide) {
        columns.insert(columns.end(), {{"mean"}, {"least"}, {"on", kLeft}, {"most"}, {"on", kLeft}});
    } else {
        for (std::int64_t r = 0; r < ranks; ++r)
            columns.push_back({fmt::format("rank {}", r)});
    }
    Table table(std::move(columns));
    for (const Entry& entry : entries) {
        std::vector<std::string> cells{entry.name};
        if (wide) {
            const auto [least, most] = std::ranges::minmax_element(entry.times);
            cells.push_back(formatTime(std::accumulate(entry.times.begin(), entry.times.end(), TimeNs{0}) / ranks));
            for (const auto& end : {least, most}) {
                const bool equal = *least == *most; // then no rank stands out
                cells.push_back(equal ? "" : formatTime(*end));
                cells.push_back(equal ? "" : fmt::format("rank {}", end - entry.times.begin()));
            }
        } else {
            for (const TimeNs time : entry.times)
                cells.push_back(formatTime(time));
        }
        table.row(std::move(cells));
    }
    std::vector<std::string> sum{"wall time"};
    if (wide) {
        sum.insert(sum.end(), {formatTime(wall), "", "", "", ""});
    } else {
        sum.insert(sum.end(), static_cast<std::size_t>(ranks), formatTime(wall));
    }
    table.row(std::move(sum));
    return "\nAccounting (where each rank's time went; what made its bubble longer, or shorter where negative)\n" +
           table.text();
}

std::string ladderText(const StepAccounting& account) {
    Table table({{"", kLeft}, {"adds"}, {"alone"}, {"gone, saves"}});
    table.row({"ideal step", formatTime(account.ideal), "", ""});
    for (const WaterfallStep& rung : account.waterfall) {
        if (rung.adds == TimeNs{0} && rung.alone == TimeNs{0} && rung.without == TimeNs{0}) continue;
        table.row({std::string(causeName(rung.cause)), formatTimeDelta(rung.adds), formatTimeDelta(rung.alone),
                   formatTimeDelta(rung.without)});
    }
    std::string out = "\nWhat made the step longer (one after another; each alone; each gone from the whole)\n";
    out += table.text();
    for (const Sentence& note : accountingNotes(account))
        out += "  " + note.text() + "\n";
    return out;
}

std::string pathText(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    const CriticalPath& path = diagnosis.path;
    std::vector<TimeNs> on_rank(step.ranks.size(), TimeNs{0});
    for (const PathSegment& segment : path.segments) {
        if (segment.kind == PathSegment::Kind::Op)
            on_rank[diagnosis.place(segment.unit).rank.index()] += segment.end - segment.start;
    }
    const auto most = std::ranges::max_element(on_rank);
    if (most == on_rank.end() || *most == TimeNs{0}) return {};
    return fmt::format("\nCritical path: {} in ops, {} in transfers, {} in late starts; {} on rank {}\n",
                       formatTime(path.ops), formatTime(path.transfers), formatTime(path.delays), formatTime(*most),
                       most - on_rank.begin());
}

std::string blameText(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    const StepAttribution& blame = diagnosis.attribution;
    if (blame.ranking.empty()) return {};
    Table table({{"who", kLeft}, {"times"}, {"excess"}, {"made wait"}, {"most of all", kLeft}, {"step saves"}});
    for (const RootCause& culprit : blame.ranking) {
        const auto most = std::ranges::max_element(culprit.idle);
        table.row({rootCauseName(step, diagnosis, culprit), fmt::format("{}", culprit.count),
                   formatTime(culprit.excess), formatTime(culprit.waits),
                   *most > TimeNs{0} ? fmt::format("rank {} ({})", most - culprit.idle.begin(), formatTime(*most)) : "",
                   formatTime(culprit.saves)});
    }
    return fmt::format("\nBlame (of {} that all ranks waited, {} is longer than at typical times)\n",
                       formatTime(blame.usual + blame.attributed + blame.unexplained),
                       formatTime(blame.attributed + blame.unexplained)) +
           table.text();
}

} // namespace

std::string diagnosisText(const StepTimeline& step, const StepDiagnosis& diagnosis) {
    return accountText(diagnosis.accounting, step.wall()) + ladderText(diagnosis.accounting) +
           pathText(step, diagnosis) + blameText(step, diagnosis);
}

std::vector<std::string> failKinds() {
    std::vector<std::string> kinds{"any"};
    for (const AnomalyKindInfo& info : anomalyKinds())
        kinds.emplace_back(info.name);
    return kinds;
}

} // namespace bubblescope::cli
