#include "core/formats/perfetto/write_trace.h"

#include "core/formats/perfetto/encoder.h"
#include "core/formats/source/replacing_file.h"
#include "core/formats/source/source_files.h"
#include "core/trace/row_numbers.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::perfetto {
namespace {

/// The encoder's view of args; `args` must outlive it.
std::vector<perfetto::Arg> viewOf(const std::vector<bubblescope::Arg>& args) {
    std::vector<perfetto::Arg> views;
    for (const bubblescope::Arg& arg : args) {
        perfetto::Arg& view = views.emplace_back();
        view.name = arg.name;
        std::visit(
            [&view](const auto& value) {
                if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
                    view.value = std::string_view(value);
                else
                    view.value = value;
            },
            arg.value);
    }
    return views;
}

class Writer {
public:
    Writer(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log)
        : trace_(trace), log_(log), rows_(trace), sources_(sourceFilesOf(trace, rows_)), encoder_(1), out_(file) {}

    Status write() {
        encoder_.clockSnapshot(trace_.origin());
        collectFlows();
        for (TrackId id = 0; id < trace_.tracks().size(); ++id) {
            const Track& track = trace_.tracks()[id];
            const std::uint64_t process = processFor(rows_.of(id).pid, trace_.text(track.process_name), track.pid);
            encoder_.track(uuidOf(id), process, nameOf(track), static_cast<std::int32_t>(id));
            slices(id);
        }
        for (const Instant& instant : trace_.instants()) {
            const std::vector<bubblescope::Arg> args = trace_.args(instant.args);
            encoder_.instant(uuidOf(instant.track), at(instant.time), trace_.text(instant.category),
                             trace_.text(instant.name), viewOf(args));
            flush();
        }
        counters();
        out_.write(encoder_.take());
        return out_.commit();
    }

private:
    [[nodiscard]] TimeNs at(TimeNs time) const { return trace_.origin() + time; }
    [[nodiscard]] static std::uint64_t uuidOf(TrackId track) { return (std::uint64_t{1} << 32) + track; }

    [[nodiscard]] std::string nameOf(const Track& track) const {
        const std::string_view name = trace_.text(track.thread_name);
        const std::string own = name.empty() ? fmt::format("thread {}", track.tid) : std::string(name);
        return track.spilled_from == kNoId ? own : own + " (more)";
    }

    void flush() {
        if (++since_flush_ < 4096) return;
        since_flush_ = 0;
        out_.write(encoder_.take());
    }

    /// `own_pid` is the number in the process's own file.
    std::uint64_t processFor(std::int64_t pid, std::string_view name, std::int64_t own_pid) {
        const auto [known, is_new] = processes_.try_emplace(pid, std::uint64_t{2} << 32 | processes_.size());
        if (is_new) {
            encoder_.process(known->second, static_cast<std::int32_t>(pid),
                             name.empty() ? fmt::format("process {}", own_pid) : name,
                             static_cast<std::int32_t>(processes_.size()));
            sayFile(known->second, pid);
        }
        return known->second;
    }

    void sayFile(std::uint64_t process, std::int64_t pid) {
        const auto source = sources_.find(pid);
        if (source == sources_.end()) return;
        std::vector<perfetto::Arg> args{{"file", source->second.number}};
        if (source->second.rank) args.push_back({"rank", std::int64_t{*source->second.rank}});
        encoder_.instant(process, trace_.origin(), kSourceCategory, "trace_file", args);
    }

    // Ids of one file may mean other arrows in another.
    void collectFlows() {
        std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> ids;
        for (const FlowPoint& point : trace_.flowPoints()) {
            if (point.slice == kNoId) {
                log_.add("loose-flow", out_.target().string(), say("ends of arrows that touch no slice are left out"));
                continue;
            }
            const std::uint32_t file = point.global ? UINT32_MAX : trace_.tracks()[point.track].file;
            const std::uint64_t id = ids.try_emplace({point.id, file}, ids.size() + 1).first->second;
            flows_[point.slice].push_back(id);
        }
    }

    void slices(TrackId id) {
        const Track& track = trace_.tracks()[id];
        std::vector<TimeNs> open; // ends, innermost last
        const auto closeUpTo = [&](TimeNs time) {
            for (; !open.empty() && open.back() <= time; open.pop_back())
                encoder_.endSlice(uuidOf(id), at(open.back()));
        };
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            closeUpTo(trace_.start(slice));
            const std::vector<bubblescope::Arg> args = trace_.args(trace_.sliceArgs()[slice]);
            const auto flows = flows_.find(slice);
            encoder_.beginSlice(uuidOf(id), at(trace_.start(slice)), trace_.category(slice), trace_.name(slice),
                                viewOf(args), flows == flows_.end() ? std::vector<std::uint64_t>{} : flows->second);
            if (trace_.end(slice) == trace_.start(slice)) {
                encoder_.endSlice(uuidOf(id), at(trace_.end(slice)));
            } else {
                open.push_back(trace_.end(slice));
            }
            flush();
        }
        closeUpTo(TimeNs::max());
    }

    void counters() {
        std::uint64_t number = std::uint64_t{3} << 32;
        for (const CounterSeries& series : trace_.counters()) {
            const std::uint64_t process = processFor(rows_.process(series.file, series.pid), {}, series.pid);
            encoder_.counterTrack(++number, process, trace_.text(series.name));
            for (std::size_t i = 0; i < series.times.size(); ++i) {
                encoder_.counter(number, at(series.times[i]), series.values[i]);
                flush();
            }
        }
    }

    const Trace& trace_;
    DiagnosticLog& log_;
    RowNumbers rows_;
    std::map<std::int64_t, SourceFile> sources_; ///< by pid
    Encoder encoder_;
    ReplacingFile out_;
    std::size_t since_flush_ = 0;
    std::map<std::int64_t, std::uint64_t> processes_;
    std::unordered_map<SliceId, std::vector<std::uint64_t>> flows_;
};

} // namespace

Status writeTrace(const std::filesystem::path& file, const Trace& trace, DiagnosticLog& log) {
    return Writer(file, trace, log).write();
}

} // namespace bubblescope::perfetto
