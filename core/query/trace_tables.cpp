#include "core/query/tables.h"

#include "core/query/trace_table.h"

#include <algorithm>

namespace bubblescope::query {
namespace {

// ---- Instants ----

class InstantTable final : public TraceTable {
public:
    explicit InstantTable(std::shared_ptr<const TraceView> view) : TraceTable("instant", specs(), std::move(view)) {}

    [[nodiscard]] std::size_t rows() const override { return trace().instants().size(); }

private:
    static std::vector<Spec> specs() {
        return joined({{{"id", Of::Id},
                        text("name", Of::Name),
                        text("category", Of::Category),
                        {"ts", Of::Ts},
                        {"track", Of::Track}},
                       processColumns(),
                       threadColumns(),
                       {text("scope", Of::Scope), text("args", Of::Args, Find::Never), hidden({"track_id", Of::Track}),
                        hidden(text("arg_set_id", Of::Args, Find::Never))}});
    }
    [[nodiscard]] const Instant& at(std::size_t row) const { return trace().instants()[row]; }
    [[nodiscard]] const TrackFacts& factsOf(std::size_t row) const override { return tracks()[at(row).track]; }
    [[nodiscard]] Cell own(std::size_t row, Of of) const override {
        const Instant& instant = at(row);
        switch (of) {
        case Of::Name: return textOrNull(trace().text(instant.name));
        case Of::Category: return textOrNull(trace().text(instant.category));
        case Of::Ts: return factsOf(row).timeOf(instant.time.count());
        case Of::Track: return std::int64_t{instant.track};
        case Of::Scope:
            return std::string_view(instant.scope == 'g' ? "global" : instant.scope == 'p' ? "process" : "thread");
        case Of::Args: return argsCell(trace(), instant.args);
        default: return {};
        }
    }
};

// ---- Arrows ----

/// From slice to slice: an arrow with three points is two rows. Arrows with an end that is not on a slice are omitted.
class FlowTable final : public TraceTable {
public:
    explicit FlowTable(std::shared_ptr<const TraceView> view) : TraceTable("flow", specs(), std::move(view)) { pair(); }

    [[nodiscard]] std::size_t rows() const override { return arrows_.size(); }

private:
    static std::vector<Spec> specs() {
        return {{"id", Of::Id},
                {"slice_out", Of::SliceOut, Affinity::Integer, Find::Index},
                {"slice_in", Of::SliceIn, Affinity::Integer, Find::Index},
                {"ts_out", Of::TsOut},
                {"ts_in", Of::TsIn},
                {"track_out", Of::TrackOut},
                {"track_in", Of::TrackIn},
                {"flow", Of::Flow}};
    }

    /// The points of a flow are in order of time, mixed with those of flows with the same number in other files.
    void pair() {
        const auto points = trace().flowPoints();
        std::vector<std::uint32_t> open; // for the current number, the latest point of each file
        for (std::uint32_t i = 0; i < points.size(); ++i) {
            if (i > 0 && points[i - 1].id != points[i].id) open.clear();
            const auto same = std::ranges::find_if(open, [&](std::uint32_t earlier) {
                const bool same_file = tracks()[points[earlier].track].file == tracks()[points[i].track].file;
                return points[earlier].global == points[i].global && (points[i].global || same_file);
            });
            if (same == open.end()) {
                open.push_back(i);
                continue;
            }
            if (points[*same].slice != kNoId && points[i].slice != kNoId) arrows_.emplace_back(*same, i);
            *same = i;
        }
    }

    [[nodiscard]] const TrackFacts& factsOf(std::size_t row) const override {
        return tracks()[trace().flowPoints()[arrows_[row].first].track];
    }
    [[nodiscard]] Cell own(std::size_t row, Of of) const override {
        const FlowPoint& out = trace().flowPoints()[arrows_[row].first];
        const FlowPoint& in = trace().flowPoints()[arrows_[row].second];
        switch (of) {
        case Of::SliceOut: return std::int64_t{out.slice};
        case Of::SliceIn: return std::int64_t{in.slice};
        case Of::TsOut: return tracks()[out.track].timeOf(out.time.count());
        case Of::TsIn: return tracks()[in.track].timeOf(in.time.count());
        case Of::TrackOut: return std::int64_t{trace().sliceTracks()[out.slice]};
        case Of::TrackIn: return std::int64_t{trace().sliceTracks()[in.slice]};
        case Of::Flow: return static_cast<std::int64_t>(out.id);
        default: return {};
        }
    }

    std::vector<std::pair<std::uint32_t, std::uint32_t>> arrows_; ///< points: from, to
};

// ---- Counters ----

/// The values of all series, one series after another. Their tracks are numbered after those of slices.
class CounterTable final : public TraceTable {
public:
    explicit CounterTable(std::shared_ptr<const TraceView> view) : TraceTable("counter", specs(), std::move(view)) {
        for (const CounterSeries& series : trace().counters()) {
            facts_.push_back(tracks().ofProcess(series.file, series.pid));
            ends_.push_back((ends_.empty() ? 0 : ends_.back()) + series.times.size());
        }
    }

    [[nodiscard]] std::size_t rows() const override { return ends_.empty() ? 0 : ends_.back(); }
    [[nodiscard]] std::vector<RowRange> candidates(RowRange within, std::vector<Condition>& conditions) const override;

private:
    static std::vector<Spec> specs() {
        return joined({{{"id", Of::Id},
                        text("name", Of::Name, Find::Ranges),
                        {"ts", Of::Ts},
                        {"value", Of::Value, Affinity::Real, Find::Never},
                        ranged("track", Of::Track)},
                       processColumns(),
                       {hidden(ranged("track_id", Of::Track))}});
    }
    [[nodiscard]] std::size_t seriesOf(std::size_t row) const {
        return static_cast<std::size_t>(std::ranges::upper_bound(ends_, row) - ends_.begin());
    }
    [[nodiscard]] std::size_t firstOf(std::size_t series) const { return series == 0 ? 0 : ends_[series - 1]; }
    [[nodiscard]] std::int64_t trackOf(std::size_t series) const {
        return static_cast<std::int64_t>(tracks().size() + series);
    }
    [[nodiscard]] const TrackFacts& factsOf(std::size_t row) const override { return facts_[seriesOf(row)]; }
    [[nodiscard]] Cell own(std::size_t row, Of of) const override {
        const std::size_t number = seriesOf(row);
        const CounterSeries& series = trace().counters()[number];
        const std::size_t at = row - firstOf(number);
        switch (of) {
        case Of::Name: return textOrNull(trace().text(series.name));
        case Of::Ts: return facts_[number].timeOf(series.times[at].count());
        case Of::Value: return series.values[at];
        case Of::Track: return trackOf(number);
        default: return {};
        }
    }

    std::vector<TrackFacts> facts_; ///< by series, like the next two
    std::vector<std::size_t> ends_; ///< the row after the last
};

std::vector<RowRange> CounterTable::candidates(RowRange within, std::vector<Condition>& conditions) const {
    const std::vector<Condition> on_names = take(conditions, [](Of of) { return of == Of::Name; });
    const std::vector<Condition> on_tracks = take(conditions, [](Of of) { return of == Of::Track || of >= Of::Facts; });
    std::vector<RowRange> ranges;
    for (std::size_t number = 0; number < ends_.size(); ++number) {
        const CounterSeries& series = trace().counters()[number];
        const RowRange rows{std::max(within.begin, firstOf(number)), std::min(within.end, ends_[number])};
        const Cell name = textOrNull(trace().text(series.name));
        const bool named =
            std::ranges::all_of(on_names, [&](const Condition& condition) { return condition.holds(name); });
        if (rows.begin < rows.end && named && meets(facts_[number], trackOf(number), on_tracks)) ranges.push_back(rows);
    }
    return ranges;
}

// ---- Tracks ----

class TrackTable final : public TraceTable {
public:
    explicit TrackTable(std::shared_ptr<const TraceView> view) : TraceTable("track", specs(), std::move(view)) {
        for (const CounterSeries& series : trace().counters())
            facts_.push_back(tracks().ofProcess(series.file, series.pid));
    }

    [[nodiscard]] std::size_t rows() const override { return tracks().size() + facts_.size(); }

private:
    static std::vector<Spec> specs() {
        std::vector<Spec> all = joined({{{"id", Of::Id}, text("name", Of::Name), text("type", Of::Type)},
                                        processColumns(),
                                        threadColumns(),
                                        {{"slices", Of::Slices}, {"spilled_from", Of::SpilledFrom}}});
        for (Spec& spec : all) {
            spec.hidden = spec.hidden && (spec.of == fact(OfTrack::Process) || spec.of == fact(OfTrack::Thread));
            if (spec.find == Find::Ranges) spec.find = Find::Scan;
        }
        return all;
    }
    [[nodiscard]] bool isCounter(std::size_t row) const { return row >= tracks().size(); }
    [[nodiscard]] const TrackFacts& factsOf(std::size_t row) const override {
        return isCounter(row) ? facts_[row - tracks().size()] : tracks()[static_cast<TrackId>(row)];
    }
    [[nodiscard]] Cell own(std::size_t row, Of of) const override {
        if (isCounter(row)) {
            const CounterSeries& series = trace().counters()[row - tracks().size()];
            return of == Of::Name   ? textOrNull(trace().text(series.name))
                   : of == Of::Type ? Cell(std::string_view("counter"))
                                    : Cell();
        }
        const Track& track = trace().tracks()[row];
        switch (of) {
        case Of::Name: return textOrNull(factsOf(row).thread);
        case Of::Type: return std::string_view("slice");
        case Of::Slices: return std::int64_t{track.end_slice} - std::int64_t{track.first_slice};
        case Of::SpilledFrom: return track.spilled_from == kNoId ? Cell() : Cell(std::int64_t{track.spilled_from});
        default: return {};
        }
    }

    std::vector<TrackFacts> facts_; ///< properties of the tracks of counters
};

} // namespace

std::vector<std::unique_ptr<Relation>> traceTables(const Subject& subject) {
    const auto view = std::make_shared<const TraceView>(subject);
    std::vector<std::unique_ptr<Relation>> tables;
    tables.push_back(sliceTable(view));
    tables.push_back(std::make_unique<InstantTable>(view));
    tables.push_back(std::make_unique<FlowTable>(view));
    tables.push_back(std::make_unique<CounterTable>(view));
    tables.push_back(std::make_unique<TrackTable>(view));
    return tables;
}

} // namespace bubblescope::query
