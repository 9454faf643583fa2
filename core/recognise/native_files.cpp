#include "core/recognise/native_files.h"

#include "core/base/median.h"
#include "core/base/parallel.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/formats/source/mapped_file.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/native_args.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/raw_trace.h"
#include "core/timeline/trace_names.h"
#include "core/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

namespace bubblescope {

/// A set of args of a loaded trace, with the interface that native_args.h needs. The trace must outlive it. The args
/// are parsed once, because an op needs nine.
class TraceArgs {
public:
    TraceArgs(const Trace& trace, ArgSetId args) : trace_(trace), args_(args) {
        trace.visitArgs(args, [this](const ArgView& arg) {
            all_ = count_ < fields_.size();
            if (all_) add(arg);
            return all_;
        });
    }

    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const {
        const Field* const field = find(name);
        if (field == nullptr) return all_ ? std::nullopt : trace_.intArg(args_, name);
        return field->whole ? std::optional(field->number) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::string> text(std::string_view name) const {
        const Field* const field = find(name);
        if (field == nullptr) return all_ ? std::nullopt : trace_.textArg(args_, name);
        return field->is_text ? std::optional(field->text) : std::nullopt;
    }

private:
    static constexpr std::size_t kMostFields = 12;

    struct Field {
        std::string name;
        std::string text;
        std::int64_t number = 0;
        bool whole = false;
        bool is_text = false;
    };

    void add(const ArgView& arg) {
        Field& field = fields_[count_++];
        field.name = arg.name;
        if (const auto* const number = std::get_if<std::int64_t>(&arg.value)) {
            field.number = *number;
            field.whole = true;
        } else if (const auto* const flag = std::get_if<bool>(&arg.value)) {
            field.number = *flag ? 1 : 0;
            field.whole = true;
        } else if (const auto* const text = std::get_if<std::string_view>(&arg.value)) {
            field.text = *text;
            field.is_text = true;
        }
    }
    [[nodiscard]] const Field* find(std::string_view name) const {
        const auto end = fields_.begin() + static_cast<std::ptrdiff_t>(count_);
        const auto found =
            std::find_if(fields_.begin(), end, [name](const Field& field) { return field.name == name; });
        return found == end ? nullptr : &*found;
    }

    const Trace& trace_;
    ArgSetId args_;
    std::array<Field, kMostFields> fields_; ///< the first ones of each name count
    std::size_t count_ = 0;
    bool all_ = true; ///< no arg is missing here
};

namespace {

bool sameRun(const RunInfo& a, const RunInfo& b) {
    return a.schedule == b.schedule && a.pp == b.pp && a.microbatches == b.microbatches && a.vpp == b.vpp;
}

/// A statement with the index of its file.
using FileStatement = std::pair<NativeMarks::Statement, std::size_t>;

std::optional<RunInfo> firstInfo(std::vector<FileStatement> statements, std::span<const TraceFile> files,
                                 DiagnosticLog& log) {
    if (statements.empty()) return std::nullopt;
    std::ranges::stable_sort(statements, {}, [](const FileStatement& one) { return one.first.time; });
    for (const auto& [other, file] : statements) {
        if (sameRun(statements.front().first.info, other.info)) continue;
        log.add("mixed-runs", files[file].path.string(),
                say("files of different runs loaded together; using the settings of the first"));
    }
    return std::move(statements.front().first.info);
}

/// Identified by its host, its PID and its PID namespace.
std::string processOf(const RunStatement& stated) {
    return stated.pid == 0 ? std::string() : fmt::format("{} {} {}", stated.host, stated.pids, stated.pid);
}

/// A rank of one run is in one file, or in the segments that one process wrote.
void reportMixedRuns(const std::vector<NativeMarks>& marks, std::span<const TraceFile> files, DiagnosticLog& log) {
    struct Source {
        std::size_t file = 0;
        std::string process;
    };
    std::map<std::array<std::int64_t, 2>, Source> sources;
    std::optional<Sentence> first;
    std::size_t at = 0;
    std::set<std::size_t> others;
    for (std::size_t file = 0; file < marks.size(); ++file) {
        const std::string process = marks[file].statements.empty() ? "" : marks[file].statements.front().process;
        for (const std::array<std::int64_t, 2>& owner : marks[file].owners) {
            const auto [known, is_new] = sources.try_emplace(owner, Source{file, process});
            const bool is_segment = !process.empty() && known->second.process == process;
            if (is_new || is_segment) continue;
            others.insert(file);
            if (first) continue;
            first = say("rank {} is in this file and in {}: the files belong to two runs, or contain one run twice",
                        owner[0], files[known->second.file].path.string());
            at = file;
        }
    }
    if (first) log.add("mixed-runs", files[at].path.string(), *first, static_cast<std::int64_t>(others.size()));
}

/// Reports why a run ended early, as far as its files show.
void reportMissingEnd(const std::vector<NativeMarks>& marks, std::span<const TraceFile> files, DiagnosticLog& log) {
    std::map<std::array<std::int64_t, 2>, bool> ended; // a rank's last segment has the end
    for (const NativeMarks& file : marks) {
        for (const auto& owner : file.owners)
            ended[owner] = ended[owner] || file.has_end;
    }
    const auto failed = std::ranges::find_if(marks, [](const NativeMarks& file) { return !file.failure.empty(); });
    if (failed != marks.end()) log.add("run-ended", {}, say("the run failed: {}", failed->failure));
    const bool any = std::ranges::any_of(ended, [](const auto& each) { return each.second; });
    if (!any) return; // it may still be running
    for (std::size_t file = 0; file < marks.size(); ++file) {
        const bool open = std::ranges::any_of(marks[file].owners, [&](const auto& owner) { return !ended[owner]; });
        if (open)
            log.add("unfinished", files[file].path.string(),
                    say("the file has no end mark: its process was killed, or the file was truncated"));
    }
}

std::optional<KernelTiming> timingOf(const std::vector<NativeMarks>& marks) {
    KernelTiming timing;
    std::vector<TimeNs> begins;
    std::vector<TimeNs> ends;
    for (const NativeMarks& file : marks) {
        timing.by_events += file.by_events;
        for (const EventGap& gap : file.gaps) {
            begins.push_back(gap.begin);
            ends.push_back(gap.end);
            timing.farthest = std::max(timing.farthest, std::max(gap.end, -gap.end));
        }
    }
    if (begins.empty()) return std::nullopt;
    timing.ops = static_cast<std::int64_t>(begins.size());
    timing.begin = medianInPlace(begins);
    timing.end = medianInPlace(ends);
    return timing;
}

/// Moves `from` to the end of `to` and frees it.
template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
    if (to.capacity() == 0)
        to = std::move(from);
    else
        to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
    std::vector<T>().swap(from); // assigning {} would keep the memory
}

/// Reads the ops and transfers of tracks. Thread-safe.
class MarkReader {
public:
    MarkReader(const Trace& trace, const OwnKernels& kernels)
        : trace_(trace), kernels_(kernels), op_(trace.strings().find(trace_names::kOp)) {
        for (const std::string_view name :
             {trace_names::kSend, trace_names::kReceive, trace_names::kWait, trace_names::kCollective}) {
            if (const StringId id = trace.strings().find(name); id != 0) kinds_.emplace_back(id, *nativeCommKind(name));
        }
    }

    /// Reads a track's slices from `next` on that begin before `until`; `next` is then the first one that does not.
    /// False if the job is stopped.
    [[nodiscard]] bool read(const Track& track, SliceId& next, TimeNs until, NativeMarks& out,
                            const JobControl& control) const {
        if (next == track.end_slice || trace_.start(next) >= until) return true;
        const auto owner = recordOwner(trace_, track);
        if (next == track.first_slice && !begin(track, owner, out)) {
            next = track.end_slice;
            return true;
        }
        FoundOpList& ops = out.ops.last();
        std::vector<FoundComm>& comm = out.comm.last();
        StopCheck stop(control, 1U << 12);
        for (; next < track.end_slice && trace_.start(next) < until; ++next) {
            if (stop.requested()) return false;
            const StringId category = trace_.sliceCategories()[next];
            if (category == op_ && op_ != 0) {
                if (const auto op = opAt(track, *owner, next, out)) ops.push_back(*op);
            } else if (const auto kind = std::ranges::find(kinds_, category, &Kind::first); kind != kinds_.end()) {
                if (const auto span = commAt(*owner, kind->second, next)) comm.push_back(*span);
            }
        }
        return true;
    }

private:
    using Kind = std::pair<StringId, CommKind>;

    /// False if nothing of the track is read.
    bool begin(const Track& track, const std::optional<RecordOwner>& owner, NativeMarks& out) const {
        if (!owner) return false;
        if (owner->tensor_rank > 0) {
            out.other_tensor_ranks.push_back({owner->rank, owner->replica, owner->tensor_rank});
            return false;
        }
        const auto categories =
            trace_.sliceCategories().subspan(track.first_slice, track.end_slice - track.first_slice);
        if (op_ != 0) out.ops.last().reserve(static_cast<std::size_t>(std::ranges::count(categories, op_)));
        out.comm.last().reserve(static_cast<std::size_t>(std::ranges::count_if(
            categories, [this](StringId id) { return std::ranges::find(kinds_, id, &Kind::first) != kinds_.end(); })));
        return true;
    }
    [[nodiscard]] std::optional<FoundOp> opAt(const Track& track, const RecordOwner& owner, SliceId slice,
                                              NativeMarks& out) const {
        if (trace_.isOpen(slice)) return std::nullopt;
        auto op = nativeOp(TraceArgs(trace_, trace_.sliceArgs()[slice]), trace_.start(slice), trace_.end(slice));
        if (!op) return op;
        op->owner = owner.rank;
        op->replica = owner.replica;
        if (const auto gap = kernels_.apply(track.file, owner, *op))
            out.gaps.push_back(*gap);
        else if (kernels_.any())
            ++out.by_events;
        return op;
    }
    [[nodiscard]] std::optional<FoundComm> commAt(const RecordOwner& owner, CommKind kind, SliceId slice) const {
        if (trace_.isOpen(slice)) return std::nullopt;
        auto comm =
            nativeComm(TraceArgs(trace_, trace_.sliceArgs()[slice]), kind, trace_.start(slice), trace_.end(slice));
        if (!comm) return comm;
        comm->owner = owner.rank;
        comm->replica = owner.replica;
        return comm;
    }

    const Trace& trace_;
    const OwnKernels& kernels_;
    StringId op_;
    std::vector<Kind> kinds_; ///< by category
};

} // namespace

std::optional<RecordOwner> recordOwner(const Trace& trace, const Track& track) {
    if (const auto owner = recordOwner(trace.text(track.process_name))) return owner;
    if (const auto rank = trace.files()[track.file].rank) return RecordOwner{*rank};
    return std::nullopt;
}

Result<std::vector<NativeMarks>> extractNativeMarks(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<NativeMarks> files(raw.fileCount());
    for (const Instant& instant : trace.instants()) {
        if (trace.text(instant.category) != trace_names::kRun) continue;
        NativeMarks& file = files[trace.tracks()[instant.track].file];
        const TraceArgs args(trace, instant.args);
        if (trace.text(instant.name) == trace_names::kRunEvent) {
            const RunStatement stated = nativeRunStatement(args);
            file.statements.push_back({instant.time, stated.info, processOf(stated)});
        } else if (trace.text(instant.name) == trace_names::kEndEvent) {
            file.has_end = true;
            file.failure = args.text(trace_names::kFailure).value_or("");
        }
    }
    OwnKernels kernels(trace);
    for (const Track& track : trace.tracks()) {
        const auto owner = recordOwner(trace, track);
        const bool goes_on = !owner || owner->tensor_rank > 0 || kernels.addTrack(track, *owner, raw.control());
        if (!goes_on) return files; // unusable, see RawTrace::control()
    }
    const MarkReader reader(trace, kernels);
    std::vector<NativeMarks> tracks(trace.tracks().size());
    std::vector<SliceId> next;
    for (const Track& track : trace.tracks())
        next.push_back(track.first_slice);
    // Slices of one file that are close in time are also close in the file, whatever their tracks. Tracks are therefore
    // read in parallel, one piece of time after another, so that few of the file's pages are needed at once.
    constexpr std::size_t kSlicesAtOnce = 1 << 16;
    constexpr std::int64_t kMostPieces = 16; // for an unordered file, each piece needs nearly all pages
    const auto pieces =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(trace.sliceCount() / kSlicesAtOnce), 1, kMostPieces);
    for (std::int64_t piece = 1; piece <= pieces; ++piece) {
        const TimeNs until = piece == pieces ? TimeNs::max() : trace.span() / pieces * piece;
        const bool goes_on = parallelFor(tracks.size(), [&](std::size_t id) {
            return !raw.control().stopRequested() &&
                   reader.read(trace.tracks()[id], next[id], until, tracks[id], raw.control());
        });
        if (!goes_on) return files;
        if (pieces > 1) MappedFile::releaseAll();
    }
    for (std::size_t id = 0; id < tracks.size(); ++id) {
        NativeMarks& file = files[trace.tracks()[id].file];
        if (const auto owner = recordOwner(trace, trace.tracks()[id]); owner && !tracks[id].ops.empty()) {
            const std::array place{owner->rank, owner->replica};
            if (std::ranges::find(file.owners, place) == file.owners.end()) file.owners.push_back(place);
        }
        file.ops.append(std::move(tracks[id].ops));
        append(file.gaps, tracks[id].gaps);
        file.comm.append(std::move(tracks[id].comm));
        append(file.other_tensor_ranks, tracks[id].other_tensor_ranks);
        file.by_events += tracks[id].by_events;
    }
    return files;
}

FoundOps mergeNativeMarks(std::vector<NativeMarks> marks, std::span<const TraceFile> files, DiagnosticLog& log) {
    reportMixedRuns(marks, files, log);
    reportMissingEnd(marks, files, log);
    FoundOps found;
    std::vector<FileStatement> statements;
    std::set<std::array<std::int64_t, 3>> others;
    for (std::size_t file = 0; file < marks.size(); ++file) {
        for (NativeMarks::Statement& statement : marks[file].statements)
            statements.emplace_back(std::move(statement), file);
        found.ops.append(std::move(marks[file].ops));
        found.comm.append(std::move(marks[file].comm));
        others.insert(marks[file].other_tensor_ranks.begin(), marks[file].other_tensor_ranks.end());
    }
    found.timing = timingOf(marks);
    found.info = firstInfo(std::move(statements), files, log);
    if (!others.empty()) {
        log.add("tensor-parallel", files.empty() ? "" : files.front().path.string(),
                say("only the first rank of each tensor-parallel group is shown"),
                static_cast<std::int64_t>(others.size()));
    }
    return found;
}

namespace {

class CheckReader {
public:
    explicit CheckReader(const RawTrace& raw)
        : trace_(raw.trace()), files_(raw.fileCount()), logs_(raw.fileCount()),
          check_(trace_.strings().find(trace_names::kCheck)), digest_(trace_.strings().find(trace_names::kDigest)),
          run_(trace_.strings().find(trace_names::kRun)), capture_(trace_.strings().find(perfetto::kCaptureCategory)) {}

    std::vector<NativeChecks> read() {
        if (check_ == 0 && digest_ == 0 && capture_ == 0) return std::move(files_);
        for (const Track& track : trace_.tracks()) {
            if (check_ == 0 || !trace_.text(track.thread_name).starts_with(trace_names::kReplay)) continue;
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                if (trace_.sliceCategories()[slice] == check_ && !trace_.isOpen(slice))
                    addCheck(track, trace_.sliceArgs()[slice], trace_.start(slice), trace_.end(slice));
            }
        }
        for (const Instant& instant : trace_.instants()) {
            const Track& track = trace_.tracks()[instant.track];
            if (instant.category == check_ && check_ != 0)
                addCheck(track, instant.args, instant.time, instant.time);
            else if (instant.category == digest_ && digest_ != 0)
                addDigest(track, instant);
            else if (instant.category == run_ && trace_.text(instant.name) == trace_names::kRunEvent)
                addDevice(track, instant.args);
            else if (instant.category == capture_ && capture_ != 0)
                addStatement(instant, files_[track.file]);
        }
        for (std::size_t file = 0; file < files_.size(); ++file)
            files_[file].problems = logs_[file].take();
        return std::move(files_);
    }

private:
    std::string where(const Track& track) const { return trace_.files()[track.file].path.string(); }

    /// True if a record of the track may be used.
    bool usable(const Track& track, const std::optional<RecordOwner>& place) {
        if (place && placeCanBe(*place)) return true;
        logs_[track.file].add("bad-check", where(track), say("skipped checks and digests without a rank"));
        return false;
    }
    bool sound(const Track& track, const NativeRecordReader<TraceArgs>& in) {
        if (in.wrong().empty()) return true;
        logs_[track.file].add("bad-check", where(track),
                              say("skipped checks and digests with a missing or invalid '{}'", in.wrong()));
        return false;
    }

    /// The checks of a recorded job contain their place, because its processes have arbitrary names.
    std::optional<RecordOwner> statedPlace(ArgSetId args) {
        const auto rank = trace_.intArg(args, "rank");
        if (!rank) return std::nullopt;
        return RecordOwner{*rank, trace_.intArg(args, "replica").value_or(0),
                           trace_.intArg(args, "tensor_rank").value_or(0)};
    }

    void addCheck(const Track& track, ArgSetId args, TimeNs start, TimeNs end) {
        const auto stated = statedPlace(args);
        const auto place = stated ? stated : recordOwner(trace_, track);
        if (!usable(track, place)) return;
        NativeRecordReader in(TraceArgs(trace_, args));
        CheckRecord check = nativeCheck(in, *place, start, end);
        if (!sound(track, in)) return;
        if (contradictsItself(check)) {
            logs_[track.file].add("bad-check", where(track),
                                  say("skipped checks that are marked as equal but have two different digests"));
            return;
        }
        NativeChecks& file = files_[track.file];
        if (stated) {
            const auto stage = in.count<Stage>("stage");
            if (!sound(track, in)) return;
            file.stages.push_back(stage);
            file.recorded.push_back(std::move(check));
        } else {
            file.checks.push_back(std::move(check));
        }
    }
    /// "0:4,7:4": the layers of the process's stages.
    void addStatement(const Instant& instant, NativeChecks& file) {
        if (trace_.text(instant.name) == perfetto::kCaptureBegins)
            file.hardware.host = trace_.textArg(instant.args, "host").value_or("");
        if (trace_.text(instant.name) != perfetto::kCaptureStates) return;
        if (const auto device = trace_.textArg(instant.args, "check_device")) file.hardware.device = *device;
        for (const auto& [stage, layers] : statedLayers(trace_.textArg(instant.args, "check_layers").value_or("")))
            file.layers[stage] = layers;
    }
    void addDigest(const Track& track, const Instant& instant) {
        const auto place = recordOwner(trace_, track);
        if (!usable(track, place)) return;
        NativeRecordReader in(TraceArgs(trace_, instant.args));
        DigestRecord digest = nativeDigest(in, *place, instant.time);
        if (sound(track, in)) files_[track.file].digests.push_back(std::move(digest));
    }
    void addDevice(const Track& track, ArgSetId args) {
        const auto place = recordOwner(trace_, track);
        if (!place || !usable(track, place)) return;
        const RunStatement stated = nativeRunStatement(TraceArgs(trace_, args));
        CheckedDevice device{stated.host, stated.device};
        if (device.host.empty() && device.device.empty()) return;
        files_[track.file].devices.emplace_back(CheckPlace{static_cast<int>(place->replica),
                                                           Rank{static_cast<std::int32_t>(place->rank)},
                                                           static_cast<int>(place->tensor_rank)},
                                                std::move(device));
    }

    const Trace& trace_;
    std::vector<NativeChecks> files_;
    std::vector<DiagnosticLog> logs_; ///< per file
    StringId check_;
    StringId digest_;
    StringId run_;
    StringId capture_;
};

/// Counts the layers of a recorded job's checks over the whole model, because ranks only know those of their own
/// stages. A stage without a recorded number has as many as the first one with a number.
void countOverModel(const std::map<Stage, int>& layers, Stage stage, CheckRecord& check) {
    if (layers.empty()) return;
    std::int64_t below = 0;
    std::int64_t unknown = stage.value;
    for (const auto& [known, count] : layers) {
        if (known >= stage) break;
        below += count;
        --unknown;
    }
    below += unknown * layers.begin()->second;
    check.layer = static_cast<int>(std::min(kMaxOwnCount, check.layer + below));
}

} // namespace

Result<std::vector<NativeChecks>> extractNativeChecks(RawTrace& raw) {
    return CheckReader(raw).read();
}

CheckLog mergeNativeChecks(std::vector<NativeChecks> files, DiagnosticLog& log) {
    CheckLog all;
    std::map<Stage, int> layers;
    for (const NativeChecks& file : files)
        layers.insert(file.layers.begin(), file.layers.end());
    for (NativeChecks& file : files) {
        for (std::size_t i = 0; i < file.recorded.size(); ++i) {
            countOverModel(layers, file.stages[i], file.recorded[i]);
            all.devices.try_emplace(placeOf(file.recorded[i]), file.hardware);
        }
        std::ranges::move(file.recorded, std::back_inserter(all.checks));
        std::ranges::move(file.checks, std::back_inserter(all.checks));
        std::ranges::move(file.digests, std::back_inserter(all.digests));
        for (auto& [place, device] : file.devices)
            all.devices.try_emplace(place, std::move(device));
        for (Diagnostic& problem : file.problems)
            log.add(std::move(problem.kind), std::move(problem.where), std::move(problem.message), problem.count);
    }
    all.sort();
    return all;
}

} // namespace bubblescope
