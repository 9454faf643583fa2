#include "app/gui/models/row_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace bubblescope::gui {

namespace {

/// Where the global ranks of the files are, sorted by the pipeline rank that they belong to.
using Candidates = std::map<int, std::vector<MeshNumbers>>;

Candidates placesByRank(const Run& run) {
    Candidates out;
    if (!run.places) return out;
    for (const auto& [global, place] : run.places->ranks)
        out[place.at(MeshAxis::Pipeline)].push_back(place);
    return out;
}

/// The place of a replica's rank. Replicas are numbered by their data rank, or where other axes make replicas as well,
/// by their ranks' numbers.
MeshNumbers placeOf(const Candidates& candidates, int rank, int replica, bool by_data) {
    MeshNumbers place;
    place.at(MeshAxis::Pipeline) = rank;
    place.at(MeshAxis::Data) = replica;
    const auto found = candidates.find(rank);
    if (found == candidates.end()) return place;
    const std::vector<MeshNumbers>& ranks = found->second;
    if (!by_data) return replica < static_cast<int>(ranks.size()) ? ranks[static_cast<std::size_t>(replica)] : place;
    const auto same = std::ranges::find(ranks, replica, [](const MeshNumbers& one) { return one.at(MeshAxis::Data); });
    return same == ranks.end() ? place : *same;
}

/// Lines in the order that is wanted, pinned ones left out.
std::vector<const RowFacts*> sorted(const std::vector<RowFacts>& facts, const RowChoice& choice) {
    std::vector<const RowFacts*> out;
    for (const RowFacts& fact : facts) {
        if (!choice.pins(fact.line)) out.push_back(&fact);
    }
    switch (choice.order) {
    case RowOrder::Rank: break;
    case RowOrder::Mesh: std::ranges::stable_sort(out, {}, [](const RowFacts* fact) { return fact->place.of; }); break;
    case RowOrder::Bubble: std::ranges::stable_sort(out, std::ranges::greater{}, &RowFacts::bubble); break;
    case RowOrder::Hand:
        std::ranges::stable_sort(out, {}, [&](const RowFacts* fact) {
            return std::ranges::find(choice.by_hand, fact->line) - choice.by_hand.begin();
        });
        break;
    }
    return out;
}

} // namespace

std::vector<RowFacts> rowFacts(const Session& session, int step) {
    std::vector<RowFacts> facts;
    const Lanes& lanes = session.lanes;
    const Candidates candidates = placesByRank(session.run);
    const bool by_data =
        session.run.places && session.run.places->sizes.at(MeshAxis::Data) >= static_cast<int>(lanes.replicas().size());
    for (int line = 0; line < static_cast<int>(lanes.lineCount()); ++line) {
        RowFacts fact{line, lanes.rankOf(line), {}, 0};
        fact.place = placeOf(candidates, fact.rank, lanes.replicaOf(line), by_data);
        if (step >= 0 && step < session.stepCount()) {
            const StepAnalysis& analysis = session.analysis(session.stepOn(line, step));
            const auto at = static_cast<std::size_t>(fact.rank);
            if (at < analysis.ranks.size() && analysis.wall > TimeNs{0})
                fact.bubble =
                    static_cast<double>(analysis.ranks[at].bubble.count()) / static_cast<double>(analysis.wall.count());
        }
        facts.push_back(fact);
    }
    return facts;
}

MeshNumbers rowSpread(const std::vector<RowFacts>& facts) {
    MeshNumbers spread;
    for (const RowFacts& fact : facts) {
        for (std::size_t axis = 0; axis < spread.of.size(); ++axis)
            spread.of[axis] = std::max(spread.of[axis], fact.place.of[axis] + 1);
    }
    return spread;
}

std::vector<PlannedRow> planRows(const std::vector<RowFacts>& facts, const RowChoice& choice) {
    std::vector<PlannedRow> rows;
    for (const int line : choice.pinned) {
        if (line >= 0 && line < static_cast<int>(facts.size())) rows.push_back({line, -1, 0, false, true});
    }
    const Result<RowFilter> filter = parseRowFilter(choice.filter);
    std::map<int, std::vector<int>> groups; // lines by coordinate, in order; one group where nothing is grouped
    for (const RowFacts* fact : sorted(facts, choice)) {
        if (filter.ok() && !filter.value().accepts(fact->rank, fact->place)) continue;
        groups[choice.group ? fact->place.at(*choice.group) : -1].push_back(fact->line);
    }
    for (const auto& [group, lines] : groups) {
        const bool folded = choice.group && std::ranges::find(choice.folded, group) != choice.folded.end();
        if (choice.group) rows.push_back({-1, group, static_cast<int>(lines.size()), folded, false});
        for (const int line : lines) {
            if (!folded) rows.push_back({line, group, 0, false, false});
        }
    }
    return rows;
}

RowChoice movedRow(const std::vector<RowFacts>& facts, RowChoice choice, int line, int direction) {
    const std::vector<PlannedRow> rows = planRows(facts, choice);
    const auto row = std::ranges::find(rows, line, &PlannedRow::line);
    const auto place = row - rows.begin() + direction;
    if (line < 0 || row == rows.end() || place < 0 || place >= static_cast<std::ptrdiff_t>(rows.size())) return choice;
    const PlannedRow& other = rows[static_cast<std::size_t>(place)];
    if (other.header() || other.pinned != row->pinned || other.group != row->group) return choice;
    const bool pinned = row->pinned;
    std::vector<int> order = pinned ? choice.pinned : std::vector<int>();
    if (!pinned) {
        // Rows that are out of sight now keep their places among the others.
        RowChoice all = choice;
        all.filter.clear();
        all.folded.clear();
        for (const PlannedRow& one : planRows(facts, all)) {
            if (!one.header() && !one.pinned) order.push_back(one.line);
        }
        choice.order = RowOrder::Hand;
    }
    std::iter_swap(std::ranges::find(order, line), std::ranges::find(order, other.line));
    (pinned ? choice.pinned : choice.by_hand) = std::move(order);
    return choice;
}

} // namespace bubblescope::gui
