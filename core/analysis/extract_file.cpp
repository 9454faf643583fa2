#include "core/analysis/extract_file.h"

#include "core/analysis/anomalies/slice_evidence.h"
#include "core/analysis/clocks/clock_evidence.h"
#include "core/analysis/devices/device_summary.h"
#include "core/base/time_intervals.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/formats/perfetto/writer.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/replacing_file.h"
#include "core/recognise/extractors.h"
#include "core/recognise/stated_values.h"
#include "core/timeline/trace_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
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

/// What a profiler records of a host by the hundred thousand.
constexpr std::array<std::string_view, 6> kHostBulk{"cpu_op",      "python_function", "cuda_runtime",
                                                    "cuda_driver", "Operator",        "Runtime"};

constexpr std::array<std::string_view, 10> kOwnCategories{
    trace_names::kOp,  trace_names::kSend,  trace_names::kReceive, trace_names::kWait,  trace_names::kCollective,
    trace_names::kRun, trace_names::kCheck, trace_names::kDigest,  trace_names::kClock, perfetto::kPipelineCategory};

bool recordsBulk(const Trace& trace) {
    if (DeviceSlices(trace).any()) return true;
    return std::ranges::any_of(kHostBulk, [&](std::string_view name) { return trace.strings().find(name) != 0; });
}

/// The slices of ops and transfers, and the instants by which rankFiles() knows whose they are.
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

    /// Those that slices begin or end at.
    [[nodiscard]] FileInstants instantsOf(const Trace& trace) const {
        FileInstants instants;
        for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
            for (const TimeNs time : {trace.start(slice), trace.end(slice)})
                if (times_.contains(time)) ++instants[(time + trace.origin()).count()];
        }
        return instants;
    }

private:
    std::set<SliceId> slices_;
    std::set<TimeNs> times_;
};

/// All values of a file.
class Values {
public:
    Values(RawTrace& raw, FileExtract& extract) : raw_(raw), extract_(extract) {}

    template <class Value, class... Query>
    Status add(const Extractor<Value, Query...>& extractor, const std::type_identity_t<Query>&... query) {
        BUBBLESCOPE_ASSIGN(const std::vector<Value> values, bubblescope::extract(raw_, extractor, query...));
        recognised_.add(values.front());
        put(keyOf(extractor, query...), values.front());
        return {};
    }
    Status addAll(std::span<const RecognitionRule> user_rules) {
        BUBBLESCOPE_TRY(add(kNativeMarks));
        BUBBLESCOPE_TRY(add(kProfilerMarks));
        for (const std::span<const RecognitionRule> rules : {user_rules, builtinRules()}) {
            for (const RecognitionRule& rule : rules) {
                BUBBLESCOPE_TRY(add(kRuleFinds, rule));
                extract_.rules.insert(keyOf(rule));
            }
        }
        BUBBLESCOPE_TRY(add(kComputeBlocks));
        BUBBLESCOPE_TRY(add(kCategories));
        BUBBLESCOPE_TRY(add(kNativeChecks));
        BUBBLESCOPE_TRY(add(kStepValues));
        BUBBLESCOPE_TRY(add(kNativeClocks));
        BUBBLESCOPE_TRY(add(kCollectives));
        BUBBLESCOPE_TRY(add(kKernelTime));
        BUBBLESCOPE_TRY(add(kMemoryPeaks));
        BUBBLESCOPE_TRY(add(kActivity));
        put(std::string(kInstantsKey), recognised_.instantsOf(raw_.trace()));
        return {};
    }
    [[nodiscard]] const Recognised& recognised() const { return recognised_; }

private:
    template <class Value>
    void put(const std::string& key, const Value& value) {
        const TimeNs origin = raw_.trace().origin();
        const auto bytes = [origin](const Value& of) {
            WireWriter out(origin);
            out(of);
            return out.take();
        };
        const std::string wired = bytes(value);
        if (wired != bytes(Value{})) extract_.put(key, wired);
    }

    RawTrace& raw_;
    FileExtract& extract_;
    Recognised recognised_;
};

/// Merges what a device's row ran into few spans: gaps count as busy that are shorter than those which are left.
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

/// What an extract shows of a trace of one file that records bulk.
class ShownTrace {
public:
    ShownTrace(const Trace& trace, const Recognised& recognised)
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
        builder_.addFile(trace_.files().front());
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
    void addTrack(TrackId id) {
        const Track& track = trace_.tracks()[id];
        std::vector<TimeInterval> work;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (device_.any() && device_.contains(slice)) work.push_back({trace_.start(slice), trace_.end(slice)});
            if (isShown(slice)) addSlice(track, slice);
        }
        const StringId name = builder_.intern("busy");
        const StringId category = builder_.intern("device");
        for (const TimeInterval& span : busySpans(std::move(work)))
            builder_.addSlice({trackOf(track), trace_.origin() + span.start, span.duration(), name, category});
    }
    /// Of what Bubblescope writes. Not what the recording states of itself: the extract states it.
    [[nodiscard]] bool isOwn(StringId category) const {
        return std::ranges::find(kOwnCategories, trace_.text(category)) != kOwnCategories.end();
    }
    [[nodiscard]] bool isShown(SliceId slice) const {
        if (recognised_.contains(slice) || isOwn(trace_.sliceCategories()[slice])) return true;
        if (annotations_ == 0 || trace_.sliceCategories()[slice] != annotations_) return false;
        return few_annotations_ || trace_.name(slice).starts_with("ProfilerStep#");
    }
    [[nodiscard]] ArgSetId argsOf(ArgSetId set) {
        std::vector<StoredArg> args;
        trace_.visitArgs(set, [&](const ArgView& arg) {
            StoredArg& stored = args.emplace_back();
            stored.name = builder_.intern(arg.name);
            if (const auto* const whole = std::get_if<std::int64_t>(&arg.value)) stored.setInt(*whole);
            if (const auto* const real = std::get_if<double>(&arg.value)) stored.setReal(*real);
            if (const auto* const flag = std::get_if<bool>(&arg.value)) stored.setBool(*flag);
            if (const auto* const text = std::get_if<std::string_view>(&arg.value))
                stored.setText(builder_.intern(*text));
            return true;
        });
        return args.empty() ? 0 : builder_.args().add(args);
    }
    void addSlice(const Track& track, SliceId slice) {
        builder_.addSlice({trackOf(track), trace_.origin() + trace_.start(slice),
                           trace_.end(slice) - trace_.start(slice), builder_.intern(trace_.name(slice)),
                           builder_.intern(trace_.category(slice)), argsOf(trace_.sliceArgs()[slice])});
    }
    /// Rows that were split off go back to theirs: reading splits them again.
    TrackId trackOf(const Track& track) {
        const Track& home = track.spilled_from == kNoId ? track : trace_.tracks()[track.spilled_from];
        const auto [known, is_new] = tracks_.try_emplace(&home, 0);
        if (is_new) {
            known->second = builder_.addTrack(home.pid, home.tid);
            Track& added = builder_.track(known->second);
            added.process_name = builder_.intern(trace_.text(home.process_name));
            added.thread_name = builder_.intern(trace_.text(home.thread_name));
            added.may_overlap = home.may_overlap;
        }
        return known->second;
    }

    const Trace& trace_;
    const Recognised& recognised_;
    DeviceSlices device_;
    StringId annotations_;
    bool few_annotations_ = true;
    TraceBuilder builder_;
    std::map<const Track*, TrackId> tracks_;
};

std::uint64_t sizeOf(const std::filesystem::path& file) {
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(file, failed);
    return failed ? 0 : bytes;
}

Status copyFile(const std::filesystem::path& file, const std::filesystem::path& out) {
    std::ifstream in(file, std::ios::binary);
    ReplacingFile copy(out);
    std::vector<char> piece(std::size_t{1} << 20);
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
        copy.write({piece.data(), static_cast<std::size_t>(in.gcount())});
    return copy.commit();
}

/// A file that was read, and what was said of it.
struct ReadFile {
    std::shared_ptr<const Trace> trace;
    FileExtract extract; ///< without values
};

Result<ReadFile> readAlone(const std::filesystem::path& file, JobControl& control) {
    const InputFile input{file, true, sizeOf(file)};
    BUBBLESCOPE_ASSIGN(ReadFiles read, readFiles({&input, 1}, control));
    if (read.outcomes.front().unusable) return *std::move(read.outcomes.front().unusable);
    ReadFile out;
    out.extract.read_problems = std::move(read.outcomes.front().problems);
    DiagnosticLog log;
    BUBBLESCOPE_ASSIGN(out.extract.extent, read.builder.settle(log, control));
    BUBBLESCOPE_ASSIGN(out.trace, read.builder.finish(out.extract.extent, log, control));
    out.extract.problems = log.take();
    out.extract.file = out.trace->files().front();
    out.extract.slices = out.trace->sliceCount();
    out.extract.flows = flowEnds(*out.trace);
    for (SharedArrow& arrow : out.extract.flows.shared)
        arrow.first += out.trace->origin();
    return out;
}

/// Why a file is small enough as it is; empty if it is not.
std::string whyCopied(const Trace& trace, const std::filesystem::path& file) {
    if (trace.files().front().extract != nullptr) return "is an extract already";
    const bool perfetto = trace.files().front().format == "perfetto" && !file.empty();
    return perfetto && !recordsBulk(trace) ? "is a Perfetto file without work of devices" : "";
}

} // namespace

std::filesystem::path extractName(const std::filesystem::path& name) {
    return name.string() + ".perfetto-trace";
}

Result<ExtractedFile> extractFile(const std::filesystem::path& file, const std::filesystem::path& out,
                                  std::span<const RecognitionRule> rules, JobControl& control) {
    BUBBLESCOPE_ASSIGN(ReadFile read, readAlone(file, control));
    const Trace& trace = *read.trace;
    ExtractedFile done{sizeOf(file), 0, read.extract.slices, trace.sliceCount(), whyCopied(trace, file)};
    if (!done.copied.empty()) {
        BUBBLESCOPE_TRY(copyFile(file, out));
        done.bytes = sizeOf(out);
        return done;
    }
    if (trace.files().size() > 1) {
        return inputError(file.string(), fmt::format("holds the files of {} ranks", trace.files().size()),
                          "extract the files that it was made of");
    }
    RawTrace raw(read.trace, &control);
    raw.leaveRanksOpen();
    Values values(raw, read.extract);
    BUBBLESCOPE_TRY(values.addAll(rules));
    std::shared_ptr<const Trace> shown = read.trace;
    if (recordsBulk(trace)) {
        BUBBLESCOPE_ASSIGN(shown, ShownTrace(trace, values.recognised()).make(control));
    }
    DiagnosticLog log; // of arrows that touch nothing, which the extract states
    BUBBLESCOPE_TRY(perfetto::writeTrace(out, *shown, log, read.extract.encoded()));
    done.bytes = sizeOf(out);
    done.slices = shown->sliceCount();
    return done;
}

} // namespace bubblescope
