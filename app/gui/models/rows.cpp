#include "app/gui/models/rows.h"

#include "app/gui/language/text.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace bubblescope::gui {

namespace {

constexpr const char* kFilterHint = "write rank numbers and ranges (0-7, 12), coordinates (pp=0 dp=1), or parts of "
                                    "thread and stream names (track=stream)";
constexpr std::string_view kTrackWord = "track=";

bool holds(const std::vector<int>& list, int value) {
    return std::ranges::find(list, value) != list.end();
}

bool acceptedBy(const std::vector<RowFilter::Span>& spans, int value) {
    return spans.empty() || std::ranges::any_of(spans, [value](const RowFilter::Span& span) {
               return value >= span.first && value <= span.last;
           });
}

/// Parses "3" or "3-5".
std::optional<RowFilter::Span> numberSpan(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = wholeNumber(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : wholeNumber(text.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    return RowFilter::Span{*first, *last};
}

std::optional<std::size_t> axisNamed(std::string_view name) {
    const auto found = std::ranges::find(kMeshAxisNames, name);
    if (found == kMeshAxisNames.end()) return std::nullopt;
    return static_cast<std::size_t>(found - kMeshAxisNames.begin());
}

/// Adds the ranges of a comma-separated list; false if one of them is not a number or a range.
bool addSpans(std::string_view list, std::vector<RowFilter::Span>& out) {
    bool any = false;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const std::string_view part = list.substr(0, comma);
        list.remove_prefix(std::min(list.size(), comma + 1));
        if (part.empty()) continue; // "0-7, 12" is two words; the first ends with a comma
        const auto span = numberSpan(part);
        if (!span) return false;
        out.push_back(*span);
        any = true;
    }
    return any;
}

} // namespace

bool RowChoice::pins(int line) const {
    return holds(pinned, line);
}

bool RowChoice::unfolds(int line) const {
    return std::ranges::binary_search(unfolded, line);
}

bool RowChoice::flattens(TrackId track) const {
    return std::ranges::binary_search(flat, static_cast<int>(track));
}

bool RowChoice::pinsTrack(TrackId track) const {
    return std::ranges::binary_search(pinned_tracks, static_cast<int>(track));
}

void RowChoice::setPinned(int line, bool on) {
    std::erase(pinned, line);
    if (on) pinned.push_back(line);
}

namespace {

/// Inserts or removes a value in an ascending list.
void setIn(std::vector<int>& list, int value, bool on) {
    std::erase(list, value);
    if (on) list.insert(std::ranges::upper_bound(list, value), value);
}

} // namespace

void RowChoice::setUnfolded(int line, bool on) {
    setIn(unfolded, line, on);
}

void RowChoice::setFlat(TrackId track, bool on) {
    setIn(flat, static_cast<int>(track), on);
}

void RowChoice::setTrackPinned(TrackId track, bool on) {
    setIn(pinned_tracks, static_cast<int>(track), on);
}

void RowChoice::setFolded(int coordinate, bool on) {
    std::erase(folded, coordinate);
    if (on) folded.push_back(coordinate);
}

bool RowFilter::accepts(int rank, const MeshNumbers& place) const {
    if (!acceptedBy(ranks, rank)) return false;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
        if (!acceptedBy(at[axis], place.of[axis])) return false;
    }
    return true;
}

bool RowFilter::acceptsTrack(const QString& name) const {
    return tracks.empty() || std::ranges::any_of(tracks, [&name](const std::string& part) {
               return name.contains(QString::fromStdString(part), Qt::CaseInsensitive);
           });
}

Result<RowFilter> parseRowFilter(std::string_view text) {
    constexpr std::string_view kBlank = " \t";
    RowFilter filter;
    while (true) {
        const std::size_t begin = text.find_first_not_of(kBlank);
        if (begin == std::string_view::npos) return filter;
        text.remove_prefix(begin);
        const std::string_view word = text.substr(0, text.find_first_of(kBlank));
        text.remove_prefix(word.size());
        if (word == ",") continue;
        const std::size_t equals = word.find('=');
        if (word.starts_with(kTrackWord) && word.size() > kTrackWord.size()) {
            filter.tracks.emplace_back(word.substr(kTrackWord.size()));
            continue;
        }
        const auto axis = equals == std::string_view::npos ? std::nullopt : axisNamed(word.substr(0, equals));
        const bool known = axis ? addSpans(word.substr(equals + 1), filter.at[*axis])
                                : equals == std::string_view::npos && addSpans(word, filter.ranks);
        if (!known) return usageError(fmt::format("'{}' is not a list of ranks", word), kFilterHint);
    }
}

namespace {

/// Mesh coordinates of the files' global ranks, by pipeline rank.
using Candidates = std::map<int, std::vector<MeshNumbers>>;

Candidates placesByRank(const Run& run) {
    Candidates out;
    if (!run.places) return out;
    for (const auto& [global, place] : run.places->ranks)
        out[place.at(MeshAxis::Pipeline)].push_back(place);
    return out;
}

/// Coordinates of a rank in a replica. Replicas are numbered along the data axis, or by rank number if other axes also
/// create replicas.
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

/// Lines in the selected order, without pinned lines.
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
        RowFacts fact{line, session.rankOf(line).value_or(-1), {}, 0};
        if (session.hasSteps()) fact.place = placeOf(candidates, fact.rank, lanes.replicaOf(line), by_data);
        if (step >= 0 && step < session.stepCount()) {
            const StepAnalysis& analysis = session.analysis(session.stepOn(line, step));
            const auto at = static_cast<std::size_t>(lanes.rankOf(line));
            if (at < analysis.ranks.size() && analysis.wall > TimeNs{0})
                fact.bubble = fractionOf(analysis.ranks[at].bubble, analysis.wall);
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
    std::map<int, std::vector<int>> groups; // lines by coordinate, in order; a single group if rows are not grouped
    for (const RowFacts* fact : sorted(facts, choice)) {
        if (filter.ok() && !filter.value().accepts(fact->rank, fact->place)) continue;
        groups[choice.group ? fact->place.at(*choice.group) : -1].push_back(fact->line);
    }
    for (const auto& [group, lines] : groups) {
        const bool folded = choice.group && std::ranges::find(choice.folded, group) != choice.folded.end();
        if (choice.group)
            rows.push_back(
                {-1, group, static_cast<int>(lines.size()), folded, false, folded ? lines : std::vector<int>()});
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
        // Rows hidden by the filter keep their positions among the others.
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

QString lineName(const Session& session, int line) {
    if (!session.trace_lines.empty()) return session.trace_lines[static_cast<std::size_t>(line)].name();
    const int rank = session.lanes.rankOf(line);
    return session.lanes.replicas().size() > 1 ? tr("Rank %1 dp %2").arg(rank).arg(session.lanes.replicaOf(line))
                                               : tr("Rank %1").arg(rank);
}

QString groupName(const PlannedRow& header, MeshAxis axis) {
    const std::string_view name = kMeshAxisNames[static_cast<std::size_t>(axis)];
    return tr("%1 %2 (rows: %3)")
        .arg(QLatin1String(name.data(), static_cast<qsizetype>(name.size())))
        .arg(header.group)
        .arg(header.lines);
}

} // namespace bubblescope::gui
