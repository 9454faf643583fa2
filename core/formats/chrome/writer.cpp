#include "core/formats/chrome/writer.h"

#include "core/base/parallel.h"
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
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::chrome {
namespace {

/// In this format an arrow's end has a thread and a time, and binds to the innermost slice there. Finds times that bind
/// to the intended slices.
class FlowBinding {
public:
    /// O(slices). The trace must outlive this object.
    explicit FlowBinding(const Trace& trace);

    /// `wanted` if it binds to the slice, otherwise the first time that does. Nothing if no time does, because the
    /// slice is completely covered by others or is not on a thread's own row.
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

/// Appends events to texts. Any number of threads may use it.
class EventWriter {
public:
    /// `base` is added to all times.
    EventWriter(const Trace& trace, const RowNumbers& rows, TimeNs base) : trace_(trace), rows_(rows), base_(base) {}

    /// Writes an event, preceded by a comma, up to its name.
    static void begin(std::int64_t pid, std::int64_t tid, std::string_view phase, std::string_view name,
                      std::string& out) {
        out += ",\n{\"ph\":\"";
        out += phase;
        out += "\",\"pid\":";
        appendNumber(pid, out);
        out += ",\"tid\":";
        appendNumber(tid, out);
        out += ",\"name\":";
        out += quotedJson(name);
    }

    void event(TrackId track, std::string_view phase, std::string_view name, std::string_view category, TimeNs time,
               std::string& out) const {
        const RowNumbers::Row& row = rows_.of(track);
        begin(row.pid, row.tid, phase, name, out);
        if (!category.empty()) {
            out += ",\"cat\":";
            out += quotedJson(category);
        }
        out += ",\"ts\":";
        appendMicroseconds(base_ + time, out);
    }

    void args(ArgSetId set, std::string& out) const {
        const std::string json = trace_.argsJson(set);
        if (json.empty()) return; // also for args of a damaged file that have no end
        out += ",\"args\":";
        out += json;
    }

    void names(TrackId id, std::string& out) const {
        const Track& track = trace_.tracks()[id];
        if (track.spilled_from != kNoId) return;
        const RowNumbers::Row& row = rows_.of(id);
        const auto name = [&](std::string_view kind, StringId text) {
            if (text == 0) return;
            begin(row.pid, row.tid, "M", kind, out);
            out += ",\"args\":{\"name\":";
            out += quotedJson(trace_.text(text));
            out += "}}";
        };
        name("process_name", track.process_name);
        if (!track.may_overlap) name("thread_name", track.thread_name);
    }

    /// Writes the slices of one track. A slice that never ended is a begin without an end.
    void slices(TrackId id, SliceId first, SliceId end, std::string& out) const {
        for (SliceId slice = first; slice < end; ++slice) {
            const bool open = trace_.isOpen(slice);
            event(id, open ? "B" : "X", trace_.name(slice), trace_.category(slice), trace_.start(slice), out);
            if (!open) {
                out += ",\"dur\":";
                appendMicroseconds(trace_.end(slice) - trace_.start(slice), out);
            }
            args(trace_.sliceArgs()[slice], out);
            out += '}';
        }
    }

    /// Writes slices with an id instead of a thread; nested ones have the id of the outermost.
    void asyncSlices(TrackId id, std::string& out) const {
        const Track& track = trace_.tracks()[id];
        std::vector<SliceId> around;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            while (!around.empty() && trace_.end(around.back()) <= trace_.start(slice))
                endAsync(id, around, out);
            around.push_back(slice);
            asyncEvent(id, "b", around, trace_.start(slice), out);
            args(trace_.sliceArgs()[slice], out);
            out += '}';
        }
        while (!around.empty())
            endAsync(id, around, out);
    }

    void instant(const Instant& instant, std::string& out) const {
        const bool async = trace_.tracks()[instant.track].may_overlap;
        event(instant.track, async ? "n" : "i", trace_.text(instant.name), trace_.text(instant.category), instant.time,
              out);
        args(instant.args, out);
        if (async) {
            out += R"(,"id":0})";
            return;
        }
        out += R"(,"s":")";
        out += instant.scope;
        out += R"("})";
    }

    [[nodiscard]] TimeNs base() const { return base_; }

private:
    /// Writes the event for the innermost of `around`, up to its args.
    void asyncEvent(TrackId id, std::string_view phase, const std::vector<SliceId>& around, TimeNs time,
                    std::string& out) const {
        const bool of_one_kind = trace_.category(around.back()) == trace_.category(around.front());
        event(id, phase, trace_.name(around.back()), trace_.category(around.back()), time, out);
        out += ",\"id\":";
        appendNumber((of_one_kind ? around.front() : around.back()) + std::int64_t{1}, out);
    }
    void endAsync(TrackId id, std::vector<SliceId>& around, std::string& out) const {
        if (!trace_.isOpen(around.back())) {
            asyncEvent(id, "e", around, trace_.end(around.back()), out);
            out += '}';
        }
        around.pop_back();
    }

    const Trace& trace_;
    const RowNumbers& rows_;
    TimeNs base_;
};

/// Limit for integer nanoseconds as microseconds, which viewers read into doubles.
constexpr TimeNs kExactInDoubles{std::int64_t{1} << 53};

/// Times are the files' own if viewers can read them exactly; otherwise they count from the first event.
TimeNs baseOf(const Trace& trace) {
    const bool exact = trace.origin() >= TimeNs{0} && trace.origin() + trace.span() < kExactInDoubles;
    return exact ? trace.origin() : TimeNs{0};
}

/// The metadata of the trace's files, by name if there are several.
std::string metadataOf(const Trace& trace) {
    if (trace.files().size() == 1) return trace.files().front().metadata;
    std::string all;
    for (const TraceFile& file : trace.files()) {
        if (file.metadata.empty()) continue;
        all +=
            fmt::format("{}{}:{}", all.empty() ? "{" : ",", quotedJson(file.path.filename().string()), file.metadata);
    }
    return all.empty() ? all : all + '}';
}

class Writer {
public:
    Writer(const std::filesystem::path& file, const Trace& trace, std::span<const Diagnostic> problems,
           DiagnosticLog& log)
        : trace_(trace), problems_(problems), log_(log), rows_(trace), events_(trace, rows_, baseOf(trace)),
          out_(file) {}

    Status write() {
        const std::string metadata = metadataOf(trace_);
        if (!metadata.empty()) text_ += R"({"traceEvents":)";
        add("[\n{{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"trace_origin\",\"args\":{{\"origin_ns\":{}}}}}",
            (trace_.origin() - events_.base()).count());
        EventWriter::begin(0, 0, "M", "trace_files", text_);
        text_ += ",\"args\":";
        text_ += encoded(sourceFilesOf(trace_, rows_, problems_)); // the format can represent everything that rows need
        text_ += '}';
        sortProcesses();
        flush(0);
        tracks();
        for (const Instant& instant : trace_.instants()) {
            events_.instant(instant, text_);
            flush();
        }
        counters();
        flows();
        text_ += "\n]";
        if (!metadata.empty()) add(",\"metadata\":{}}}", metadata);
        text_ += '\n';
        flush(0);
        return out_.commit();
    }

private:
    static constexpr std::size_t kFlushed = std::size_t{1} << 16; ///< bytes

    template <class... Parts>
    void add(fmt::format_string<Parts...> format, Parts&&... parts) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
    }

    void flush(std::size_t from = kFlushed) {
        if (text_.size() < from) return;
        out_.write(text_);
        text_.clear();
    }

    /// Sorts ranks explicitly, because viewers may use a different order.
    void sortProcesses() {
        std::set<std::int64_t> seen;
        for (const TrackId id : tracksByRank(trace_)) {
            const std::int64_t pid = rows_.of(id).pid;
            if (!seen.insert(pid).second) continue;
            EventWriter::begin(pid, 0, "M", "process_sort_index", text_);
            add(R"(,"args":{{"sort_index":{}}}}})", seen.size());
        }
    }

    /// All cores produce the text, each a part of a track at a time; the amount waiting to be written is bounded.
    void tracks() {
        constexpr SliceId kPart = 4096; // about 0.6 MB of text
        constexpr std::size_t kAhead = 16;
        OrderedTasks<std::string> parts;
        for (TrackId id = 0; id < trace_.tracks().size(); ++id) {
            const Track& track = trace_.tracks()[id];
            SliceId first = track.first_slice;
            do {
                if (parts.size() == kAhead) out_.write(parts.take());
                const SliceId end = first + std::min(kPart, track.end_slice - first);
                parts.add([this, id, first, end, names = first == track.first_slice] {
                    std::string text;
                    if (names) events_.names(id, text);
                    if (!trace_.tracks()[id].may_overlap)
                        events_.slices(id, first, end, text);
                    else if (names)
                        events_.asyncSlices(id, text);
                    return text;
                });
                first = end;
            } while (first < track.end_slice);
        }
        while (parts.size() > 0)
            out_.write(parts.take());
    }

    void counters() {
        for (const CounterSeries& series : trace_.counters()) {
            for (std::size_t i = 0; i < series.times.size(); ++i) {
                if (!std::isfinite(series.values[i])) {
                    log_.add("no-number", out_.target().string(), say("skipped counter values that are not numbers"));
                    continue;
                }
                EventWriter::begin(rows_.process(series.file, series.pid), 0, "C", trace_.text(series.name), text_);
                add(R"(,"ts":{},"args":{{"value":{}}}}})", microseconds(events_.base() + series.times[i]),
                    series.values[i]);
                flush();
            }
        }
    }

    // Files may use the same id for different arrows: a flow is the points of one id and file, in order of time.
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
                         point.slice == kNoId ? say("skipped arrow ends without a slice")
                                              : say("skipped arrow ends at slices that this format cannot reference"));
                continue;
            }
            const std::string_view phase = starts ? "s" : ends ? "f" : "t";
            events_.event(trace_.sliceTracks()[point.slice], phase, "flow", "flow", *time, text_);
            text_ += ",\"id\":";
            appendNumber(flow_, text_);
            text_ += R"(,"bp":"e"})";
            flush();
        }
    }

    const Trace& trace_;
    std::span<const Diagnostic> problems_;
    DiagnosticLog& log_;
    RowNumbers rows_;
    EventWriter events_;
    ReplacingFile out_;
    std::string text_; ///< not written to out_ yet
    std::int64_t flow_ = 0;
};

} // namespace

Status writeChrome(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log,
                   std::span<const Diagnostic> problems) {
    return Writer(file, trace, problems, log).write();
}

} // namespace bubblescope::chrome
