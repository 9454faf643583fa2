#include "core/recognise/kernel_steps.h"

#include "core/formats/perfetto/capture_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>

namespace bubblescope {

bool SampledKernels::contain(TimeNs time) const {
    if (!sampled) return true;
    const auto after = std::ranges::upper_bound(steps, time, {}, &Mark::start);
    return after != steps.begin() && time < std::prev(after)->end;
}

std::vector<SampledKernels> sampledKernels(const Trace& trace) {
    std::vector<SampledKernels> files(trace.files().size());
    const StringId states = trace.strings().find(perfetto::kCaptureStates);
    const StringId kernels = trace.strings().find(perfetto::kCaptureKernels);
    if (states == 0) return files;
    for (const Instant& instant : trace.instants()) {
        SampledKernels& file = files[trace.tracks()[instant.track].file];
        if (instant.name == states) {
            file.sampled = file.sampled || trace.textArg(instant.args, perfetto::kKernelsEvery).has_value();
        } else if (instant.name == kernels && kernels != 0) {
            const auto step = trace.intArg(instant.args, perfetto::kKernelsStep);
            const auto length = trace.intArg(instant.args, perfetto::kKernelsTime);
            constexpr std::int64_t kYear = std::int64_t{366} * 86400 * 1'000'000'000;
            if (!step || !length || *length <= 0 || *length > kYear) continue; // corrupt
            file.steps.push_back({*step, instant.time, instant.time + TimeNs{*length}});
        }
    }
    for (SampledKernels& file : files)
        std::ranges::stable_sort(file.steps, {}, &Mark::start);
    return files;
}

void reportSampledKernels(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, DiagnosticLog& log) {
    constexpr std::size_t kShown = 8;
    std::set<std::int64_t> steps;
    std::size_t sampled = files.size();
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (!marks[i].kernels_sampled) continue;
        sampled = std::min(sampled, i);
        for (const Mark& step : marks[i].kernel_steps)
            steps.insert(step.index);
    }
    if (sampled == files.size()) return;
    const std::string where = files[sampled].path.string();
    if (steps.empty())
        return log.add("sampled-kernels", where, say("no complete step has kernels, so no step was analysed"));
    const std::vector<std::int64_t> shown(
        steps.begin(), std::next(steps.begin(), static_cast<std::ptrdiff_t>(std::min(kShown, steps.size()))));
    if (steps.size() == 1)
        return log.add("sampled-kernels", where,
                       say("only step {} has kernels, and only this step was analysed", shown.front()));
    log.add("sampled-kernels", where,
            say("only {} steps have kernels, and only these were analysed: {}", steps.size(),
                fmt::format("{}{}", fmt::join(shown, ", "), steps.size() > kShown ? ", …" : "")));
}

} // namespace bubblescope
