#include "core/formats/chrome/writer.h"

#include "core/formats/chrome/event_text.h"
#include "core/formats/source/replacing_file.h"
#include "core/formats/source/source_files.h"
#include "core/trace/args.h"
#include "core/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::chrome {
namespace {

/// In this format an arrow's end has a thread and a time, and binds to the innermost slice that covers it there. Finds
/// times that bind to the intended slices.
class FlowBinding {
public:
    /// O(slices). The trace must outlive this object.
    explicit FlowBinding(const Trace& trace);

    /// `wanted` if it binds to the slice, else the first time that does. Nothing if no time does: the slice is
    /// completely covered by others, or is not on a thread's own row.
    [[nodiscard]] std::optional<TimeNs> timeFor(SliceId slice, TimeNs wanted) const;

private:
    [[nodiscard]] SliceId innermostAt(const Track& track, TimeNs time) const;

    const Trace& trace_;
    std::vector<SliceId> parent_; ///< kNoId for the outermost
};

FlowBinding::FlowBinding(const Trace& trace) : trace_(trace) {
    if (trace.flowPoints().empty()) return;
    parent_.assign(trace.sliceCount(), kNoId);
    for (const Track& track : trace.tracks()) {
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            SliceId outer = slice == track.first_slice ? kNoId : slice - 1;
            while (outer != kNoId && trace.end(outer) < trace.end(slice))
                outer = parent_[outer];
            parent_[slice] = outer;
        }
    }
}

SliceId FlowBinding::innermostAt(const Track& track, TimeNs time) const {
    const auto starts = trace_.sliceStarts();
    const auto begin = starts.begin() + track.first_slice;
    const auto after = std::upper_bound(begin, starts.begin() + track.end_slice, time.count());
    if (after == begin) return kNoId;
    auto slice = static_cast<SliceId>(after - starts.begin() - 1);
    while (slice != kNoId && trace_.end(slice) < time)
        slice = parent_[slice];
    return slice;
}

std::optional<TimeNs> FlowBinding::timeFor(SliceId slice, TimeNs wanted) const {
    const Track& track = trace_.tracks()[trace_.sliceTracks()[slice]];
    if (track.may_overlap || track.spilled_from != kNoId) return std::nullopt;
    if (innermostAt(track, wanted) == slice) return wanted;
    for (TimeNs time = trace_.start(slice); time <= trace_.end(slice);) {
        SliceId inner = innermostAt(track, time);
        if (inner == slice) return time;
        while (inner != kNoId && parent_[inner] != slice)
            inner = parent_[inner];
        if (inner == kNoId) break;
        time = trace_.end(inner) + TimeNs{1};
    }
    return std::nullopt;
}

class Writer {
public:
    Writer(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log)
        : trace_(trace), log_(log), rows_(trace), out_(file) {}

    Status write() {
        out_.write("[\n");
        begin(0, 0, "M", "trace_origin");
        add(R"(,"args":{{"origin_ns":{}}}}})", trace_.origin().count());
        for (const auto& [pid, source] : sourceFilesOf(trace_, rows_)) {
            begin(pid, 0, "M", "trace_file");
            add(R"(,"args":{{"file":{})", source.number);
            if (source.rank) add(R"(,"rank":{})", *source.rank);
            out_.write("}}");
        }
        sortProcesses();
        for (TrackId track = 0; track < trace_.tracks().size(); ++track) {
            names(track);
            slices(track);
        }
        for (const Instant& instant : trace_.instants()) {
            const bool async = trace_.tracks()[instant.track].may_overlap;
            event(instant.track, async ? "n" : "i", trace_.text(instant.name), trace_.text(instant.category),
                  instant.time);
            args(instant.args);
            out_.write(async ? R"(,"id":0})" : R"(,"s":"t"})");
        }
        counters();
        flows();
        out_.write("\n]\n");
        return out_.commit();
    }

private:
    template <class... Parts>
    void add(fmt::format_string<Parts...> format, Parts&&... parts) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Parts>(parts)...);
    }

    void begin(std::int64_t pid, std::int64_t tid, std::string_view phase, std::string_view name) {
        if (!std::exchange(first_, false)) out_.write(",\n");
        add(R"({{"ph":"{}","pid":{},"tid":{},"name":{})", phase, pid, tid, quotedJson(name));
    }

    void event(TrackId track, std::string_view phase, std::string_view name, std::string_view category, TimeNs time) {
        const RowNumbers::Row& row = rows_.of(track);
        begin(row.pid, row.tid, phase, name);
        if (!category.empty()) add(R"(,"cat":{})", quotedJson(category));
        add(R"(,"ts":{})", microseconds(time));
    }

    void args(ArgSetId set) {
        // Empty also where a damaged file's args have no end.
        if (const std::string json = trace_.argsJson(set); !json.empty()) add(R"(,"args":{})", json);
    }

    /// Ranks in their order, however viewers would sort them.
    void sortProcesses() {
        std::set<std::int64_t> seen;
        for (const TrackId id : tracksByRank(trace_)) {
            const std::int64_t pid = rows_.of(id).pid;
            if (!seen.insert(pid).second) continue;
            begin(pid, 0, "M", "process_sort_index");
            add(R"(,"args":{{"sort_index":{}}}}})", seen.size());
        }
    }

    void names(TrackId id) {
        const Track& track = trace_.tracks()[id];
        if (track.spilled_from != kNoId) return;
        const RowNumbers::Row& row = rows_.of(id);
        const auto name = [&](std::string_view kind, StringId text) {
            if (text == 0) return;
            begin(row.pid, row.tid, "M", kind);
            add(R"(,"args":{{"name":{}}}}})", quotedJson(trace_.text(text)));
        };
        name("process_name", track.process_name);
        if (!track.may_overlap) name("thread_name", track.thread_name);
    }

    void slices(TrackId id) {
        const Track& track = trace_.tracks()[id];
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            const std::string_view name = trace_.name(slice);
            const std::string_view category = trace_.category(slice);
            event(id, track.may_overlap ? "b" : "X", name, category, trace_.start(slice));
            if (!track.may_overlap) {
                add(R"(,"dur":{})", microseconds(trace_.end(slice) - trace_.start(slice)));
            } else {
                add(R"(,"id":{})", slice + 1);
            }
            args(trace_.sliceArgs()[slice]);
            out_.push_back('}');
            if (!track.may_overlap) continue;
            event(id, "e", name, category, trace_.end(slice));
            add(R"(,"id":{}}})", slice + 1);
        }
    }

    void counters() {
        for (const CounterSeries& series : trace_.counters()) {
            for (std::size_t i = 0; i < series.times.size(); ++i) {
                if (!std::isfinite(series.values[i])) {
                    log_.add("no-number", out_.target().string(),
                             say("values of counters that are no numbers are left out"));
                    continue;
                }
                begin(rows_.process(series.file, series.pid), 0, "C", trace_.text(series.name));
                add(R"(,"ts":{},"args":{{"value":{}}}}})", microseconds(series.times[i]), series.values[i]);
            }
        }
    }

    // Files may use one id for different arrows: a flow is the points of one id and file, in order of time.
    void flows() {
        const auto points = trace_.flowPoints();
        const FlowBinding binding(trace_);
        const auto flowOf = [&](std::size_t i) {
            return std::pair(points[i].id, points[i].global ? kNoId : trace_.tracks()[points[i].track].file);
        };
        std::vector<std::size_t> order(points.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, flowOf);
        for (std::size_t i = 0; i < order.size(); ++i) {
            const FlowPoint& point = points[order[i]];
            const bool starts = i == 0 || flowOf(order[i - 1]) != flowOf(order[i]);
            const bool ends = i + 1 == order.size() || flowOf(order[i]) != flowOf(order[i + 1]);
            if (starts) ++flow_;
            const auto time = point.slice == kNoId ? std::nullopt : binding.timeFor(point.slice, point.time);
            if (!time) {
                log_.add("loose-flow", out_.target().string(),
                         point.slice == kNoId
                             ? say("ends of arrows that touch no slice are left out")
                             : say("ends of arrows at slices that the format cannot point at are left out"));
                continue;
            }
            event(trace_.sliceTracks()[point.slice], starts ? "s" : ends ? "f" : "t", "flow", "flow", *time);
            add(R"(,"id":{},"bp":"e"}})", flow_);
        }
    }

    const Trace& trace_;
    DiagnosticLog& log_;
    RowNumbers rows_;
    ReplacingFile out_;
    bool first_ = true;
    std::uint64_t flow_ = 0;
};

} // namespace

Status writeChrome(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log) {
    return Writer(file, trace, log).write();
}

} // namespace bubblescope::chrome
