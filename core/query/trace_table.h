#pragma once

#include "core/query/relation.h"
#include "core/query/subject.h"
#include "core/query/track_facts.h"
#include "core/trace/trace.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Code shared by the tables of a trace.
namespace bubblescope::query {

/// Data that is read by several tables.
struct TraceView {
    explicit TraceView(const Subject& subject) : trace(traceOf(subject)), tracks(subject) {}

    static const Trace& traceOf(const Subject& subject) {
        static const Trace kNone;
        return subject.run.trace == nullptr ? kNone : *subject.run.trace;
    }

    const Trace& trace;
    AllTracks tracks;
};

/// The content of a column. Contents that depend only on a row's track come last, in the order of OfTrack.
enum class Of : std::uint8_t {
    Id,
    Name,
    Category,
    Ts,
    Dur,
    End,
    Track,
    Kind,
    Depth,
    Parent,
    Open,
    Args,
    Correlation,
    Scope,
    Value,
    Type,
    Slices,
    SpilledFrom,
    SliceOut,
    SliceIn,
    TsOut,
    TsIn,
    TrackOut,
    TrackIn,
    Flow,
    Facts,
};

struct Spec {
    const char* name;
    Of of;
    Affinity affinity = Affinity::Integer;
    Find find = Find::Scan;
    bool hidden = false;
};

constexpr Of fact(OfTrack which) {
    return static_cast<Of>(static_cast<int>(Of::Facts) + static_cast<int>(which));
}

constexpr Spec text(const char* name, Of of, Find find = Find::Scan) {
    return {name, of, Affinity::Text, find};
}
constexpr Spec ranged(const char* name, Of of) {
    return {name, of, Affinity::Integer, Find::Ranges};
}
constexpr Spec hidden(Spec spec) {
    spec.hidden = true;
    return spec;
}

/// Columns that are derived from a row's process, and from its thread or stream.
[[nodiscard]] const std::vector<Spec>& processColumns();
[[nodiscard]] const std::vector<Spec>& threadColumns();
[[nodiscard]] std::vector<Spec> joined(std::initializer_list<std::vector<Spec>> parts);

[[nodiscard]] std::vector<Column> sqlColumns(const std::vector<Spec>& specs);

[[nodiscard]] Cell textOrNull(std::string_view text);
[[nodiscard]] Cell argsCell(const Trace& trace, ArgSetId set);

/// A table whose rows belong to tracks or to processes.
class TraceTable : public Relation {
public:
    TraceTable(std::string name, const std::vector<Spec>& specs, std::shared_ptr<const TraceView> view)
        : Relation(std::move(name), sqlColumns(specs)), view_(std::move(view)) {
        for (const Spec& spec : specs)
            of_.push_back(spec.of);
    }

    [[nodiscard]] Cell cell(std::size_t row, int column) const final {
        const Of of = this->of(column);
        if (of == Of::Id) return static_cast<std::int64_t>(row);
        return of < Of::Facts ? own(row, of) : factOf(factsOf(row), factIn(of));
    }

protected:
    [[nodiscard]] virtual Cell own(std::size_t row, Of of) const = 0;
    [[nodiscard]] virtual const TrackFacts& factsOf(std::size_t row) const = 0;

    [[nodiscard]] const Trace& trace() const { return view_->trace; }
    [[nodiscard]] const AllTracks& tracks() const { return view_->tracks; }
    [[nodiscard]] Of of(int column) const { return of_[static_cast<std::size_t>(column)]; }
    [[nodiscard]] static OfTrack factIn(Of of) {
        return static_cast<OfTrack>(static_cast<int>(of) - static_cast<int>(Of::Facts));
    }
    /// Removes the conditions on the columns selected by `wanted`, and returns them.
    template <class Wanted>
    [[nodiscard]] std::vector<Condition> take(std::vector<Condition>& conditions, const Wanted& wanted) const {
        std::vector<Condition> taken;
        for (const Condition& condition : conditions) {
            if (wanted(of(condition.column))) taken.push_back(condition);
        }
        std::erase_if(conditions, [&](const Condition& condition) { return wanted(of(condition.column)); });
        return taken;
    }
    /// True if the rows of a track satisfy the conditions on the track.
    [[nodiscard]] bool meets(const TrackFacts& facts, std::int64_t track,
                             const std::vector<Condition>& conditions) const {
        return std::ranges::all_of(conditions, [&](const Condition& condition) {
            const Of of = this->of(condition.column);
            return condition.holds(of == Of::Track ? Cell(track) : factOf(facts, factIn(of)));
        });
    }
    /// Reduces a range of rows of one track, sorted by time, to the rows that can satisfy the conditions.
    [[nodiscard]] static RowRange withinTimes(RowRange rows, const std::vector<Condition>& conditions,
                                              const TrackFacts& facts, const auto& time_of) {
        if (!facts.keepsOrder()) return rows;
        const auto first = [&](const auto& before) {
            std::size_t begin = rows.begin;
            for (std::size_t count = rows.end - rows.begin; count > 0;) {
                const std::size_t half = count / 2;
                const bool is_before = before(facts.timeOf(time_of(begin + half)));
                begin = is_before ? begin + half + 1 : begin;
                count = is_before ? count - half - 1 : half;
            }
            return begin;
        };
        for (const Condition& condition : conditions) {
            rows.begin = first([&](std::int64_t time) { return time < condition.low; });
            rows.end = first([&](std::int64_t time) { return time <= condition.high; });
        }
        return rows;
    }

private:
    std::shared_ptr<const TraceView> view_;
    std::vector<Of> of_;
};

[[nodiscard]] std::unique_ptr<Relation> sliceTable(std::shared_ptr<const TraceView> view);

} // namespace bubblescope::query
