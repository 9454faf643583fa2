#include "core/analysis/extract_file.h"

#include "core/analysis/anomalies/slice_evidence.h"
#include "core/analysis/clocks/clock_evidence.h"
#include "core/analysis/devices/device_summary.h"
#include "core/analysis/devices/memory_curve.h"
#include "core/analysis/period/host_activity.h"
#include "core/base/descriptor.h"
#include "core/base/open_input.h"
#include "core/base/time_intervals.h"
#include "core/formats/file_identity.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/formats/perfetto/writer.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/replacing_file.h"
#include "core/recognise/extractors.h"
#include "core/recognise/stated_values.h"
#include "core/timeline/trace_names.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope {
namespace {

/// Categories with hundreds of thousands of host records.
constexpr std::array<std::string_view, 6> kHostBulk{"cpu_op",      "python_function", "cuda_runtime",
                                                    "cuda_driver", "Operator",        "Runtime"};

constexpr std::array<std::string_view, 10> kOwnCategories{
    trace_names::kOp,  trace_names::kSend,  trace_names::kReceive, trace_names::kWait,  trace_names::kCollective,
    trace_names::kRun, trace_names::kCheck, trace_names::kDigest,  trace_names::kClock, perfetto::kPipelineCategory};

bool recordsBulk(const Trace& trace) {
    if (DeviceSlices(trace).any()) return true;
    return std::ranges::any_of(kHostBulk, [&](std::string_view name) { return trace.strings().find(name) != 0; });
}

/// The slices of ops and transfers in a file, and the times by which rankFiles() assigns files to ranks.
class Recognised {
public:
    void add(const RuleFinds& finds) {
        for (const RuleMatch& match : finds.matches) {
            slices_.insert(match.slice);
            times_.insert({match.start, match.end});
            if (match.device) times_.insert({match.device->start, match.device->end});
        }
    }
    void add(const RankBlocks& blocks) {
        for (const ComputeBlock& block : blocks.blocks)
            times_.insert({block.host_start, block.host_end, block.work.start, block.work.end});
    }
    void add(const NativeMarks& marks) {
        for (const BareFoundOp& op : marks.ops)
            times_.insert({op.start, op.end});
    }
    void add(const ProfilerMarks& marks) {
        for (const auto* list : {&marks.steps, &marks.receives}) {
            for (const Mark& mark : *list)
                times_.insert({mark.start, mark.end});
        }
    }
    template <class Other>
    void add(const Other& /*value*/) {}

    [[nodiscard]] bool contains(SliceId slice) const { return slices_.contains(slice); }

    /// The times at which slices of the file begin or end.
    [[nodiscard]] FileInstants instantsOf(const Trace& trace, std::uint32_t file) const {
        FileInstants instants;
        for (const Track& track : trace.tracks()) {
            if (track.file != file) continue;
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                for (const TimeNs time : {trace.start(slice), trace.end(slice)})
                    if (times_.contains(time)) ++instants[(time + trace.origin()).count()];
            }
        }
        return instants;
    }

private:
    std::set<SliceId> slices_;
    std::set<TimeNs> times_;
};

/// All values of the files of a trace.
class Values {
public:
    Values(RawTrace& raw, std::vector<FileExtract>& extracts)
        : raw_(raw), extracts_(extracts), recognised_(extracts.size()) {}

    template <class Value, class... Query>
    Status add(const Extractor<Value, Query...>& extractor, const std::type_identity_t<Query>&... query) {
        BUBBLESCOPE_ASSIGN(const std::vector<Value> values, bubblescope::extract(raw_, extractor, query...));
        for (std::size_t file = 0; file < values.size(); ++file) {
            recognised_[file].add(values[file]);
            put(file, keyOf(extractor, query...), values[file]);
        }
        return {};
    }
    Status addAll(std::span<const RecognitionRule> user_rules) {
        BUBBLESCOPE_TRY(add(kNativeMarks));
        BUBBLESCOPE_TRY(add(kProfilerMarks));
        for (const std::span<const RecognitionRule> rules : {user_rules, builtinRules()}) {
            for (const RecognitionRule& rule : rules) {
                BUBBLESCOPE_TRY(add(kRuleFinds, rule));
                for (FileExtract& extract : extracts_)
                    extract.rules.insert(keyOf(rule));
            }
        }
        BUBBLESCOPE_TRY(add(kComputeBlocks));
        BUBBLESCOPE_TRY(add(kCategories));
        BUBBLESCOPE_TRY(add(kNativeChecks));
        BUBBLESCOPE_TRY(add(kStepValues));
        BUBBLESCOPE_TRY(add(kNativeClocks));
        BUBBLESCOPE_TRY(add(kCollectives));
        BUBBLESCOPE_TRY(add(kKernelTime));
        BUBBLESCOPE_TRY(add(kMemoryCurves));
        BUBBLESCOPE_TRY(add(kKernelSums));
        BUBBLESCOPE_TRY(add(kActivity));
        BUBBLESCOPE_TRY(add(kHostActivities));
        for (std::uint32_t file = 0; file < recognised_.size(); ++file)
            put(file, std::string(kInstantsKey), recognised_[file].instantsOf(raw_.trace(), file));
        return {};
    }
    /// By file.
    [[nodiscard]] const std::vector<Recognised>& recognised() const { return recognised_; }

private:
    template <class Value>
    void put(std::size_t file, const std::string& key, const Value& value) {
        const TimeNs origin = raw_.trace().origin();
        const auto bytes = [origin](const Value& of) {
            WireWriter out(origin);
            out(of);
            return out.take();
        };
        const std::string wired = bytes(value);
        if (wired != bytes(Value{})) extracts_[file].put(key, wired);
    }

    RawTrace& raw_;
    std::vector<FileExtract>& extracts_;
    std::vector<Recognised> recognised_;
};

/// Merges a device row's work into a few spans: gaps shorter than the remaining ones count as busy.
std::vector<TimeInterval> busySpans(std::vector<TimeInterval> work) {
    constexpr std::size_t kMost = 2000;
    std::vector<TimeInterval> spans = unionOf(std::move(work));
    for (TimeNs gap{1'000}; spans.size() > kMost; gap *= 2) {
        std::vector<TimeInterval> merged;
        for (const TimeInterval& span : spans) {
            if (!merged.empty() && span.start - merged.back().end < gap)
                merged.back().end = span.end;
            else
                merged.push_back(span);
        }
        spans = std::move(merged);
    }
    return spans;
}

/// The part of a trace with bulk records that an extract keeps.
class ShownTrace {
public:
    ShownTrace(const Trace& trace, const std::vector<Recognised>& recognised)
        : trace_(trace), recognised_(recognised), device_(trace),
          annotations_(trace.strings().find("user_annotation")) {
        std::size_t annotated = 0;
        for (const StringId category : trace.sliceCategories())
            annotated += category == annotations_ && annotations_ != 0 ? 1 : 0;
        constexpr std::size_t kFewest = 1'000;
        constexpr std::size_t kPart = 50;
        few_annotations_ = annotated <= std::max(kFewest, trace.sliceCount() / kPart);
    }

    Result<std::shared_ptr<const Trace>> make(const JobControl& control) {
        for (const TraceFile& file : trace_.files())
            builder_.addFile(file);
        if (trace_.files().size() > 1) addFirstTracks();
        for (TrackId id = 0; id < trace_.tracks().size(); ++id)
            addTrack(id);
        for (const Instant& instant : trace_.instants()) {
            if (!isOwn(instant.category)) continue;
            builder_.addInstant({trackOf(trace_.tracks()[instant.track]), trace_.origin() + instant.time,
                                 builder_.intern(trace_.text(instant.name)),
                                 builder_.intern(trace_.text(instant.category)), argsOf(instant.args)});
        }
        DiagnosticLog log;
        return builder_.finish(log, control);
    }

private:
    /// Adds the first track of every file, so that each file is in the extract, regardless of what else is shown of it.
    void addFirstTracks() {
        std::set<std::uint32_t> known;
        for (const Track& track : trace_.tracks())
            if (known.insert(track.file).second) (void)trackOf(track);
    }
    void addTrack(TrackId id) {
        const Track& track = trace_.tracks()[id];
        std::vector<TimeInterval> work;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (device_.any() && device_.contains(slice)) work.push_back({trace_.start(slice), trace_.end(slice)});
            if (isShown(track, slice)) addSlice(track, slice);
        }
        const StringId name = builder_.intern("busy");
        const StringId category = builder_.intern("device");
        for (const TimeInterval& span : busySpans(std::move(work)))
            builder_.addSlice({trackOf(track), trace_.origin() + span.start, span.duration(), name, category});
    }
    /// True if Bubblescope wrote slices of this category. Excludes the recording's data about itself, which the extract
    /// contains separately.
    [[nodiscard]] bool isOwn(StringId category) const {
        return std::ranges::find(kOwnCategories, trace_.text(category)) != kOwnCategories.end();
    }
    [[nodiscard]] bool isShown(const Track& track, SliceId slice) const {
        if (recognised_[track.file].contains(slice) || isOwn(trace_.sliceCategories()[slice])) return true;
        if (annotations_ == 0 || trace_.sliceCategories()[slice] != annotations_) return false;
        return few_annotations_ || trace_.name(slice).starts_with("ProfilerStep#");
    }
    [[nodiscard]] ArgSetId argsOf(ArgSetId set) {
        std::vector<StoredArg> args;
        trace_.visitArgs(set, [&](const ArgView& arg) {
            args.push_back(builder_.stored(arg));
            return true;
        });
        return args.empty() ? 0 : builder_.args().add(args);
    }
    void addSlice(const Track& track, SliceId slice) {
        const NewSlice copy{trackOf(track),
                            trace_.origin() + trace_.start(slice),
                            trace_.end(slice) - trace_.start(slice),
                            builder_.intern(trace_.name(slice)),
                            builder_.intern(trace_.category(slice)),
                            argsOf(trace_.sliceArgs()[slice])};
        if (trace_.isOpen(slice))
            builder_.leaveOpen(builder_.openSlice(copy));
        else
            (void)builder_.addSlice(copy);
    }
    /// Rows that were split off are merged again, because reading splits them again.
    TrackId trackOf(const Track& track) {
        const Track& home = track.spilled_from == kNoId ? track : trace_.tracks()[track.spilled_from];
        const auto [known, is_new] = tracks_.try_emplace(&home, 0);
        if (is_new) {
            known->second = builder_.addTrack(home.pid, home.tid);
            Track& added = builder_.track(known->second);
            added.process_name = builder_.intern(trace_.text(home.process_name));
            added.thread_name = builder_.intern(trace_.text(home.thread_name));
            added.may_overlap = home.may_overlap;
            added.file = home.file;
        }
        return known->second;
    }

    const Trace& trace_;
    const std::vector<Recognised>& recognised_;
    DeviceSlices device_;
    StringId annotations_;
    bool few_annotations_ = true;
    TraceBuilder builder_;
    std::map<const Track*, TrackId> tracks_;
};

std::uint64_t sizeOf(const std::filesystem::path& file) {
    if (file == kStandardInput) return 0;
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(file, failed);
    return failed ? 0 : bytes;
}

Status copyFile(const std::filesystem::path& file, const std::filesystem::path& out) {
    BUBBLESCOPE_ASSIGN(const Descriptor in, openInput(file.string()));
    ReplacingFile copy(out);
    std::vector<char> piece(std::size_t{1} << 20);
    while (true) {
        const ssize_t count = ::read(in.get(), piece.data(), piece.size());
        if (count == 0) return copy.commit();
        if (count > 0)
            copy.write({piece.data(), static_cast<std::size_t>(count)});
        else if (errno != EINTR)
            return inputError(file.string(), fmt::format("cannot be read: {}", std::strerror(errno)));
    }
}

/// A file that was read, and the problems found. Converted traces contain several files.
struct ReadFile {
    std::shared_ptr<const Trace> trace;
    std::vector<FileExtract> extracts; ///< without values
};

void addFlows(const Trace& trace, std::vector<FileExtract>& extracts) {
    FlowEnds ends = flowEnds(trace);
    for (std::size_t file = 0; file < extracts.size(); ++file)
        extracts[file].flows.dangling = {ends.dangling[file]};
    for (SharedArrow& arrow : ends.shared) {
        arrow.first += trace.origin();
        extracts[std::exchange(arrow.file, 0)].flows.shared.push_back(arrow);
    }
}

Result<ReadFile> readAlone(const std::filesystem::path& file, const TraceRules& rules, JobControl& control) {
    const InputFile input{file, true, sizeOf(file)};
    BUBBLESCOPE_ASSIGN(ReadFiles read, readFiles({&input, 1}, control));
    if (read.outcomes.front().unusable) return *std::move(read.outcomes.front().unusable);
    ReadFile out;
    DiagnosticLog log;
    settleRanks(read.builder, log);
    read.builder.setRules(rules);
    BUBBLESCOPE_ASSIGN(const TraceExtent extent, read.builder.settle(log, control));
    BUBBLESCOPE_ASSIGN(out.trace, read.builder.finish(extent, log, control));
    out.extracts.resize(out.trace->files().size());
    out.extracts.front().read_problems = std::move(read.outcomes.front().problems);
    out.extracts.front().problems = log.take();
    for (std::size_t i = 0; i < out.extracts.size(); ++i) {
        out.extracts[i].extent = extent;
        out.extracts[i].file = out.trace->files()[i];
    }
    for (const Track& track : out.trace->tracks())
        out.extracts[track.file].slices += track.end_slice - track.first_slice;
    addFlows(*out.trace, out.extracts);
    return out;
}

bool isExtract(const Trace& trace) {
    return trace.files().front().extract != nullptr;
}

/// The reason why a file can replace its extract; empty if it cannot.
std::string whyCopied(const Trace& trace) {
    if (isExtract(trace)) return "is already an extract";
    const bool perfetto = trace.files().front().format == "perfetto";
    return perfetto && !recordsBulk(trace) ? "is a Perfetto file without device work" : "";
}

/// Writes what was read as an extract.
Result<ExtractedFile> writeExtract(ReadFile read, std::uint64_t bytes_before, const std::filesystem::path& out,
                                   const LoadOptions& known_of, JobControl& control) {
    const Trace& trace = *read.trace;
    RawTrace raw(read.trace, &control);
    raw.leaveRanksOpen();
    Values values(raw, read.extracts);
    BUBBLESCOPE_TRY(values.addAll(known_of.rules));
    std::shared_ptr<const Trace> shown = read.trace;
    if (recordsBulk(trace)) {
        BUBBLESCOPE_ASSIGN(shown, ShownTrace(trace, values.recognised()).make(control));
    }
    std::vector<std::string> encoded;
    for (const FileExtract& extract : read.extracts)
        encoded.push_back(extract.encoded());
    DiagnosticLog log; // for arrows that touch nothing; the extract reports them
    BUBBLESCOPE_TRY(perfetto::writeTrace(out, *shown, log, {}, encoded));
    return ExtractedFile{bytes_before, sizeOf(out), trace.sliceCount(), shown->sliceCount(), {}};
}

Result<ExtractedFile> copyWhole(const std::filesystem::path& file, const std::filesystem::path& out,
                                std::uint64_t slices, std::string why) {
    BUBBLESCOPE_TRY(copyFile(file, out));
    const std::uint64_t bytes = sizeOf(out);
    return ExtractedFile{bytes, bytes, slices, slices, std::move(why)};
}

} // namespace

std::filesystem::path extractName(const std::filesystem::path& name) {
    return name.string() + ".perfetto-trace";
}

Result<ExtractedFile> extractFile(const std::filesystem::path& file, const std::filesystem::path& out,
                                  const LoadOptions& known_of, JobControl& control) {
    BUBBLESCOPE_ASSIGN(ReadFile read, readAlone(file, known_of.reading, control));
    const std::uint64_t slices = read.trace->sliceCount();
    if (std::string why = whyCopied(*read.trace); !why.empty()) return copyWhole(file, out, slices, std::move(why));
    const std::uint64_t bytes_before = sizeOf(file);
    BUBBLESCOPE_ASSIGN(ExtractedFile done, writeExtract(std::move(read), bytes_before, out, known_of, control));
    if (done.bytes < bytes_before) return done;
    auto copied = copyWhole(file, out, slices, "is smaller than its extract");
    std::error_code ignored;
    if (!copied.ok()) std::filesystem::remove(out, ignored); // a failed extraction leaves nothing
    return copied;
}

Result<ExtractedFile> extractAnyFile(const std::filesystem::path& file, const std::filesystem::path& out,
                                     const LoadOptions& known_of, JobControl& control) {
    BUBBLESCOPE_ASSIGN(ReadFile read, readAlone(file, known_of.reading, control));
    if (isExtract(*read.trace)) {
        return inputError(file == kStandardInput ? "standard input" : file.string(), "is already an extract");
    }
    return writeExtract(std::move(read), sizeOf(file), out, known_of, control);
}

} // namespace bubblescope
