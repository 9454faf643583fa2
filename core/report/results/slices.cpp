#include "core/report/results/slices.h"

#include <fmt/format.h>

#include <set>
#include <string>

namespace bubblescope::report {
namespace {

/// A track's name as displayed: for a thread without a name, its number.
std::string trackPart(const Trace& trace, StringId name, std::int64_t number) {
    const std::string_view text = trace.text(name);
    return text.empty() ? fmt::format("{}", number) : std::string(text);
}

Error unknownCategory(const Trace& trace, std::string_view wanted) {
    std::set<std::string_view> known;
    for (const StringId category : trace.sliceCategories())
        known.insert(trace.text(category));
    std::string list;
    for (const std::string_view each : known)
        list += fmt::format("{}'{}'", list.empty() ? "" : ", ", each);
    return usageError(fmt::format("no slices of the category '{}'", wanted),
                      list.empty() ? "the trace has no slices" : "there are " + list);
}

} // namespace

Result<DataTable> slicesTable(const Trace& trace, std::optional<std::string_view> category) {
    const auto categories = trace.sliceCategories();
    const auto wanted = [&](SliceId slice) { return !category || trace.text(categories[slice]) == *category; };
    DataTable out({{"rank", ColumnType::Int32},
                   {"process", ColumnType::Text},
                   {"thread", ColumnType::Text},
                   {"category", ColumnType::Text},
                   {"name", ColumnType::Text},
                   {"start_ns", ColumnType::Int64},
                   {"duration_ns", ColumnType::Int64}});
    if (!category) out.reserve(trace.sliceCount());
    for (const Track& track : trace.tracks()) {
        const std::string process = trackPart(trace, track.process_name, track.pid);
        const std::string thread = trackPart(trace, track.thread_name, track.tid);
        const auto& rank = trace.files()[track.file].rank;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (!wanted(slice)) continue;
            out.row(rank, process, thread, trace.category(slice), trace.name(slice), trace.start(slice),
                    TimeNs{trace.sliceDurations()[slice]});
        }
    }
    if (category && out.rows() == 0) return unknownCategory(trace, *category);
    return out;
}

} // namespace bubblescope::report
