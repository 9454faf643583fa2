#include "core/recognise/profiler_marks.h"

#include "core/base/job.h"
#include "core/base/text.h"
#include "core/formats/perfetto/capture_names.h"
#include "core/recognise/name_pattern.h"
#include "core/recognise/raw_trace.h"
#include "core/trace/step_marks.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace bubblescope {

namespace {

/// Reads what an instant of the recording library reports about the end of its process.
void readEnd(const Trace& trace, const Instant& instant, ProfilerMarks& file) {
    file.is_captured = true;
    const bool exited = trace.text(instant.name) == perfetto::kCaptureEnds;
    const auto signal = trace.textArg(instant.args, perfetto::kCaptureSignal);
    if (!exited && !signal) return;
    file.has_end = file.has_end || exited;
    file.signal = signal.value_or("");
    file.ended = instant.time;
}

/// The instants of recorded jobs: marks of steps, and values that their frameworks report.
void readStatements(const Trace& trace, std::vector<ProfilerMarks>& files) {
    const StringId pipeline = trace.strings().find(perfetto::kPipelineCategory);
    const StringId states = trace.strings().find(perfetto::kCaptureStates);
    const StringId capture = trace.strings().find(perfetto::kCaptureCategory);
    if (pipeline == 0 && states == 0 && capture == 0) return;
    std::vector<std::vector<std::pair<TimeNs, std::optional<std::int64_t>>>> marks(files.size());
    for (const Instant& instant : trace.instants()) {
        const std::uint32_t file = trace.tracks()[instant.track].file;
        if (instant.category == capture && capture != 0) {
            readEnd(trace, instant, files[file]);
        }
        if (instant.name == states && states != 0) {
            for (const Arg& arg : trace.args(instant.args)) {
                if (const auto* const value = std::get_if<std::string>(&arg.value))
                    files[file].stated[arg.name] = *value;
            }
        } else if (instant.category == pipeline && pipeline != 0) {
            std::string_view name = trace.text(instant.name);
            const bool step = takeWord(name, perfetto::kStepMark);
            marks[file].emplace_back(instant.time, step ? takeNumber(name) : std::nullopt);
        }
    }
    for (std::size_t file = 0; file < files.size(); ++file) {
        std::ranges::sort(marks[file]);
        for (std::size_t i = 0; i < marks[file].size(); ++i) {
            const auto& [start, step] = marks[file][i];
            const TimeNs end = i + 1 < marks[file].size() ? marks[file][i + 1].first : TimeNs::max();
            if (step && end > start) files[file].steps.push_back({*step, start, end});
        }
    }
}

} // namespace

Result<std::vector<ProfilerMarks>> extractProfilerMarks(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<ProfilerMarks> files(trace.files().size());
    readStatements(trace, files);
    const std::vector<SampledKernels>& kernels = raw.sampledKernels();
    for (std::size_t file = 0; file < files.size(); ++file) {
        files[file].kernels_sampled = kernels[file].sampled;
        files[file].kernel_steps = kernels[file].steps;
    }
    std::set<StringId> wanted;
    for (const std::string_view category : {"user_annotation", "nvtx"}) {
        if (const StringId id = trace.strings().find(category); id != 0) wanted.insert(id);
    }
    if (wanted.empty()) return files;
    std::vector<std::map<std::size_t, std::vector<Mark>>> steps(files.size()); // per file, by kind
    StopCheck stop(raw.control());
    for (const Track& track : trace.tracks()) {
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (stop.requested()) return files; // unusable, see RawTrace::control()
            if (!wanted.contains(trace.sliceCategories()[slice])) continue;
            const std::string_view name = trace.name(slice);
            if (name == "gloo:recv")
                files[track.file].receives.push_back({0, trace.start(slice), trace.end(slice)});
            else if (const auto step = stepMarkNamed(name))
                steps[track.file][step->kind].push_back({step->index, trace.start(slice), trace.end(slice)});
        }
    }
    const auto by_start = [](const Mark& a, const Mark& b) { return a.start < b.start; };
    for (std::size_t file = 0; file < files.size(); ++file) {
        ProfilerMarks& marks = files[file];
        if (marks.steps.empty() && !steps[file].empty()) marks.steps = std::move(steps[file].begin()->second);
        std::stable_sort(marks.steps.begin(), marks.steps.end(), by_start);
        std::stable_sort(marks.receives.begin(), marks.receives.end(), by_start);
    }
    return files;
}

std::map<Stage, int> statedLayers(std::string_view text) {
    constexpr int kMax = 1 << 20;
    std::map<Stage, int> layers;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t colon = part.find(':');
        if (colon == std::string_view::npos) return {};
        const auto stage = parseNumber<int>(part.substr(0, colon));
        const auto count = parseNumber<int>(part.substr(colon + 1));
        if (!stage || !count || *stage < 0 || *stage >= kMax || *count < 0 || *count >= kMax) return {};
        layers[Stage{*stage}] = *count;
    }
    return layers;
}

const Mark* markAt(const ProfilerMarks& marks, TimeNs time) {
    const auto after = std::upper_bound(marks.steps.begin(), marks.steps.end(), time,
                                        [](TimeNs t, const Mark& step) { return t < step.start; });
    if (after == marks.steps.begin() || time >= std::prev(after)->end) return nullptr;
    return &*std::prev(after);
}

std::optional<std::int64_t> stepAt(const ProfilerMarks& marks, TimeNs time) {
    const Mark* const mark = markAt(marks, time);
    return mark != nullptr ? std::optional(mark->index) : std::nullopt;
}

std::optional<Mark> receivePostedIn(const ProfilerMarks& marks, TimeNs from, TimeNs to) {
    auto receive = std::lower_bound(marks.receives.begin(), marks.receives.end(), from,
                                    [](const Mark& known, TimeNs time) { return known.start < time; });
    std::optional<Mark> last;
    for (; receive != marks.receives.end() && receive->start <= to; ++receive) {
        if (!last || receive->end > last->end) last = *receive;
    }
    return last;
}

bool tellUnknownRanks(std::span<const TraceFile> files, DiagnosticLog& log) {
    bool unknown = false;
    for (const TraceFile& file : files) {
        if (file.rank || file.format.empty() || files.size() < 2) continue;
        unknown = true;
        log.add("unknown-rank", file.path.string(),
                say("files do not specify their rank; ranks are assigned in the order of files and processes"));
    }
    return unknown;
}

} // namespace bubblescope
