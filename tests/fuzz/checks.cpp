#include "tests/fuzz/checks.h"

#include "core/trace/summary.h"
#include "tests/fuzz/meter.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace bubblescope::fuzz {
namespace {

bool mentions(const std::vector<Diagnostic>& problems, std::string_view kind) {
    return std::any_of(problems.begin(), problems.end(), [kind](const Diagnostic& p) { return p.kind == kind; });
}

void checkProblems(const std::vector<Diagnostic>& problems) {
    constexpr std::size_t kMost = 100; // they are counted, not listed one by one
    require(problems.size() < kMost, "problems are merged");
    for (const Diagnostic& problem : problems) {
        require(!problem.kind.empty() && !problem.message.empty() && problem.count > 0, "a problem says what it is");
        require(!problem.where.empty(), "a problem says where it is");
    }
}

void checkColumns(const Trace& trace) {
    const std::size_t slices = trace.sliceCount();
    require(trace.sliceTracks().size() == slices && trace.sliceStarts().size() == slices &&
                trace.sliceDurations().size() == slices && trace.sliceNames().size() == slices &&
                trace.sliceCategories().size() == slices && trace.sliceArgs().size() == slices,
            "columns have one entry for each slice");
    for (SliceId slice = 0; slice < slices; ++slice) {
        require(trace.sliceTracks()[slice] < trace.tracks().size(), "slices are on tracks");
        require(trace.sliceNames()[slice] < trace.strings().size(), "names are in the pool");
        require(trace.sliceCategories()[slice] < trace.strings().size(), "categories are in the pool");
        require(trace.start(slice) >= TimeNs{0}, "times are relative to the first event");
        require(trace.end(slice) >= trace.start(slice), "slices end after they start");
        require(trace.end(slice) <= trace.span(), "slices end within the span");
        const ArgSetId set = trace.sliceArgs()[slice];
        const std::vector<Arg> args = trace.args(set);
        if (!args.empty() && !args.front().name.empty())
            require(trace.arg(set, args.front().name).has_value(), "what is listed is found");
        (void)trace.argsJson(set);
    }
}

void checkTracks(const Trace& trace, bool nested) {
    SliceId next = 0;
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        require(track.file < trace.files().size(), "tracks belong to files");
        require(track.process_name < trace.strings().size() && track.thread_name < trace.strings().size(),
                "names of tracks are in the pool");
        require(track.spilled_from == kNoId || track.spilled_from < id, "rows that were split off follow their own");
        if (track.first_slice == track.end_slice) continue;
        require(track.first_slice == next && track.end_slice > next, "tracks divide the slices among them, in order");
        next = track.end_slice;
        std::vector<TimeNs> open;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            require(trace.sliceTracks()[slice] == id, "a track's slices are its own");
            if (slice > track.first_slice) {
                const TimeNs start = trace.start(slice - 1);
                require(start < trace.start(slice) ||
                            (start == trace.start(slice) && trace.end(slice - 1) >= trace.end(slice)),
                        "slices are ordered by start, longest first");
            }
            while (!open.empty() && open.back() <= trace.start(slice))
                open.pop_back();
            require(!nested || open.empty() || trace.end(slice) <= open.back(), "slices of a track nest");
            open.push_back(trace.end(slice));
        }
    }
    require(next == trace.sliceCount(), "every slice is on its track");
}

void checkPoints(const Trace& trace) {
    TimeNs before{0};
    for (const Instant& instant : trace.instants()) {
        require(instant.track < trace.tracks().size() && instant.name < trace.strings().size(),
                "instants are on tracks");
        require(instant.time >= before && instant.time <= trace.span(), "instants are in order, within the span");
        before = instant.time;
        (void)trace.args(instant.args);
    }
    const auto points = trace.flowPoints();
    for (std::size_t i = 0; i < points.size(); ++i) {
        require(points[i].track < trace.tracks().size(), "arrows are on tracks");
        require(points[i].slice == kNoId || points[i].slice < trace.sliceCount(), "arrows touch slices that exist");
        require(i == 0 || std::pair(points[i - 1].id, points[i - 1].time) <= std::pair(points[i].id, points[i].time),
                "arrows are in order");
    }
    for (const CounterSeries& series : trace.counters()) {
        require(series.file < trace.files().size() && series.name < trace.strings().size(), "counters belong to files");
        require(series.times.size() == series.values.size(), "every value of a counter has its time");
        for (const TimeNs time : series.times)
            require(time >= TimeNs{0} && time <= trace.span(), "counters lie within the span");
    }
}

void checkSummary(const Trace& trace) {
    const std::vector<FileSummary> files = summarize(trace);
    std::size_t slices = 0;
    for (const FileSummary& file : files) {
        std::int64_t of_file = 0;
        for (const TrackSummary& track : file.tracks) {
            of_file += track.slices;
            require(track.busy <= track.last - track.first, "a track is not busy longer than it lasts");
        }
        require(of_file == file.slices, "a file's slices are those of its tracks");
        slices += static_cast<std::size_t>(of_file);
    }
    require(slices == trace.sliceCount(), "the summary counts every slice");
}

} // namespace

void require(bool holds, const char* promise) {
    if (!holds) throw BrokenPromise(promise);
}

void checkError(const Error& error, std::string_view name) {
    require(error.kind == ErrorKind::Input, "what is wrong with an input is an input error");
    require(!error.message.empty(), "an error says what is wrong");
    require(error.where.find(name) != std::string::npos, "an error names the file");
}

void checkTrace(const Trace& trace, const std::vector<Diagnostic>& problems) {
    checkProblems(problems);
    checkColumns(trace);
    checkTracks(trace, !mentions(problems, "crowded"));
    checkPoints(trace);
    checkSummary(trace);
}

std::optional<Loaded> load(std::string_view bytes, const ReadInput& read, std::size_t library_bytes) {
    TraceBuilder builder;
    DiagnosticLog log;
    JobControl control;
    LoadProgress progress(control, bytes.size());
    builder.addFile({kInput, {}, std::nullopt});
    // The most expensive bytes of each format: an event of thirty becomes a slice with columns, and its names and args
    // are kept apart; builders grow by doubling. Text formats look at each byte a few times.
    Bounds bounds{.peak_per_byte = 400, .allocated_per_byte = 2000, .branches_per_byte = 3000};
    bounds.peak += library_bytes;
    bounds.allocated += library_bytes;
    Loaded loaded;
    Used used;
    const Status status = [&] {
        const Meter meter;
        Status done = read(builder, log, progress);
        if (done.ok()) loaded.trace = builder.finish(log);
        used = meter.used();
        return done;
    }();
    requireLinear(used, bytes.size(), bounds);
    if (!status.ok()) {
        checkError(status.error());
        return std::nullopt;
    }
    loaded.problems = log.take();
    checkTrace(*loaded.trace, loaded.problems);
    return loaded;
}

} // namespace bubblescope::fuzz
