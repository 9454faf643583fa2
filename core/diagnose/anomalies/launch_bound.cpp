#include "core/diagnose/anomalies/input.h"
#include "core/diagnose/clocks/rank_files.h"
#include "core/diagnose/statistics/robust.h"
#include "core/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace bubblescope {
namespace {

constexpr std::size_t kFewestKernels = 2; // one kernel has no gaps
constexpr std::size_t kFewestOps = 4;

/// When a file's devices run something, as a union of intervals that can be asked quickly.
class DeviceTime {
public:
    void add(TimeInterval kernel) { kernels_.push_back(kernel); }
    void finish() {
        std::ranges::sort(kernels_, {}, &TimeInterval::start);
        std::vector<TimeInterval> merged;
        for (const TimeInterval& kernel : kernels_) {
            if (!merged.empty() && kernel.start <= merged.back().end) {
                merged.back().end = std::max(merged.back().end, kernel.end);
            } else {
                merged.push_back(kernel);
            }
        }
        kernels_ = std::move(merged);
    }
    struct Use {
        TimeNs busy{0};
        std::size_t stretches = 0; ///< of busy time
    };
    [[nodiscard]] Use within(TimeInterval op) const {
        Use use;
        auto at = std::ranges::lower_bound(kernels_, op.start, {}, &TimeInterval::end);
        for (; at != kernels_.end() && at->start < op.end; ++at) {
            use.busy += std::min(at->end, op.end) - std::max(at->start, op.start);
            ++use.stretches;
        }
        return use;
    }

private:
    std::vector<TimeInterval> kernels_;
};

} // namespace

void findLaunchBound(const AnomalyInput& input, Anomalies& found) {
    if (!input.run.trace) return;
    const Trace& trace = *input.run.trace;
    const StringId kernel = trace.strings().find("kernel");
    if (kernel == 0) return;
    const auto files = rankFiles(input.run);
    std::map<std::uint32_t, int> ranks_of_file;
    for (const auto& [key, file] : files)
        ++ranks_of_file[file];
    std::map<std::uint32_t, DeviceTime> devices;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.sliceCategories()[slice] != kernel) continue;
        devices[trace.tracks()[trace.sliceTracks()[slice]].file].add({trace.start(slice), trace.end(slice)});
    }
    for (auto& [file, device] : devices)
        device.finish();

    struct Gaps {
        std::vector<double> shares;
        TimeNs idle{0};
    };
    std::map<std::tuple<Rank, Chunk>, Gaps> by_stage;
    for (const StepTimeline& step : input.run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const auto file = files.find({step.replica, Rank{r}});
            // A file of several ranks does not say whose kernel is whose.
            if (file == files.end() || ranks_of_file[file->second] != 1) continue;
            const auto device = devices.find(file->second);
            if (device == devices.end()) continue;
            for (const TimelineOp& op : step.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer || op.duration().count() <= 0) continue;
                const DeviceTime::Use use = device->second.within({op.start, op.end});
                if (use.stretches < kFewestKernels) continue;
                Gaps& gaps = by_stage[{Rank{r}, op.op.chunk}];
                gaps.shares.push_back(1 - static_cast<double>(use.busy.count()) /
                                              static_cast<double>(op.duration().count()));
                gaps.idle += op.duration() - use.busy;
            }
        }
    }
    for (const auto& [stage, gaps] : by_stage) {
        const double share = statistics::median(gaps.shares);
        if (gaps.shares.size() < kFewestOps || share < input.limits.device_gaps) continue;
        const auto& [rank, chunk] = stage;
        const TimeNs idle = gaps.idle / static_cast<std::int64_t>(input.run.steps.size());
        Anomaly anomaly;
        anomaly.kind = AnomalyKind::LaunchBound;
        anomaly.severity = Severity::Warning;
        anomaly.rank = rank;
        anomaly.chunk = chunk;
        anomaly.evidence = {{"chunk", chunk.value},
                            {"gap_share", share},
                            {"idle_per_step_ns", static_cast<double>(idle.count())},
                            {"ops", static_cast<double>(gaps.shares.size())}};
        anomaly.message = fmt::format("the device of rank {} idles for {:.0f} % of the time inside the ops of chunk {} "
                                      "({} a step): the host launches kernels more slowly than they run.",
                                      rank.value, 100 * share, chunk.value, formatTime(idle));
        anomaly.suggestion = "Record CUDA graphs, compile the model, or fuse small kernels; look for synchronising "
                             "calls in the ops.";
        found.push_back(std::move(anomaly));
    }
}

} // namespace bubblescope
