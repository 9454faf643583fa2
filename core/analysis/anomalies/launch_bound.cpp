#include "core/analysis/anomalies/launch_bound.h"

#include "core/analysis/anomalies/input.h"
#include "core/analysis/clocks/rank_files.h"
#include "core/analysis/statistics/robust.h"
#include "core/recognise/trace_shares.h"

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
    [[nodiscard]] DeviceUse within(TimeInterval op) const {
        DeviceUse use;
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

/// By replica and rank.
using ClockOfRank = std::map<RankKey, RankClock>;

/// Which file has a rank's ops, and how they were moved from the clock of that file.
ClockOfRank clocksOf(const AnomalyInput& input) {
    ClockOfRank clocks;
    for (const RankClock& rank : input.clocks.ranks)
        clocks[{rank.replica, rank.rank}] = rank;
    if (!clocks.empty()) return clocks;
    for (const auto& [key, file] : rankFiles(input.run)) // nothing was said of clocks, so nothing was moved
        clocks[key].file = file;
    return clocks;
}

/// Calls visit(file, rank, op, when) for each op of which it is known which file has its device's kernels; `when` is by
/// their clock.
template <class Visit>
void forOpsOfKnownFiles(const AnomalyInput& input, const Visit& visit) {
    const ClockOfRank clocks = clocksOf(input);
    const bool moved = input.clocks.method == ClockMethod::Aligned;
    std::map<std::uint32_t, int> ranks_of_file;
    for (const auto& [key, clock] : clocks) {
        if (clock.file) ++ranks_of_file[*clock.file];
    }
    for (const StepTimeline& step : input.run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const auto clock = clocks.find({step.replica, Rank{r}});
            // A file of several ranks does not say whose kernel is whose.
            if (clock == clocks.end() || !clock->second.file || ranks_of_file[*clock->second.file] != 1) continue;
            const auto shown = [&](TimeNs time) { return moved ? clock->second.fit.fromReference(time) : time; };
            for (const TimelineOp& op : step.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer || op.duration().count() <= 0) continue;
                visit(*clock->second.file, Rank{r}, op, TimeInterval{shown(op.start), shown(op.end)});
            }
        }
    }
}

} // namespace

Result<HasKernels::Answer> HasKernels::answer(TraceShare& share) const {
    return Kernels{share.trace().strings().find("kernel") != 0};
}

Result<DeviceUseIn::Answer> DeviceUseIn::answer(TraceShare& share) const {
    const Trace& trace = share.trace();
    const StringId kernel = trace.strings().find("kernel");
    std::map<std::uint32_t, DeviceTime> devices;
    for (SliceId slice = 0; kernel != 0 && slice < trace.sliceCount(); ++slice) {
        if (trace.sliceCategories()[slice] != kernel) continue;
        const Track& track = trace.tracks()[trace.sliceTracks()[slice]];
        devices[share.fileOf(track)].add({trace.start(slice), trace.end(slice)});
    }
    Answer answer;
    for (auto& [file, device] : devices) {
        const auto of_file = ops.find(file);
        if (of_file == ops.end()) continue;
        device.finish();
        for (const auto& [start, end] : of_file->second)
            answer[file].push_back(device.within({start, end}));
    }
    return answer;
}

void findLaunchBound(const AnomalyInput& input, Anomalies& found) {
    if (std::ranges::none_of(askRun(input.run, HasKernels{}), &Kernels::any)) return;

    DeviceUseIn question;
    struct Asked {
        std::uint32_t file;
        std::size_t place; ///< among the file's ops
        Rank rank;
        Chunk chunk;
        TimeNs duration;
    };
    std::vector<Asked> asked;
    forOpsOfKnownFiles(input, [&](std::uint32_t file, Rank rank, const TimelineOp& op, TimeInterval when) {
        auto& ops = question.ops[file];
        asked.push_back({file, ops.size(), rank, op.op.chunk, when.end - when.start});
        ops.emplace_back(when.start, when.end);
    });
    DeviceUseIn::Answer uses;
    for (DeviceUseIn::Answer& share : askRun(input.run, question))
        uses.merge(share);

    struct Gaps {
        std::vector<double> shares;
        TimeNs idle{0};
    };
    std::map<std::tuple<Rank, Chunk>, Gaps> by_stage;
    for (const Asked& op : asked) {
        const auto device = uses.find(op.file);
        if (device == uses.end()) continue;
        const DeviceUse& use = device->second[op.place];
        if (use.stretches < kFewestKernels) continue;
        Gaps& gaps = by_stage[{op.rank, op.chunk}];
        gaps.shares.push_back(1 - static_cast<double>(use.busy.count()) / static_cast<double>(op.duration.count()));
        gaps.idle += op.duration - use.busy;
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
        anomaly.message = say("the device of rank {} idles for {:.0f} % of the time inside the ops of chunk {} "
                              "({} a step): the host launches kernels more slowly than they run.",
                              rank.value, 100 * share, chunk.value, formatTime(idle));
        anomaly.suggestion = say("Record CUDA graphs, compile the model, or fuse small kernels; look for synchronising "
                                 "calls in the ops.");
        found.push_back(std::move(anomaly));
    }
}

} // namespace bubblescope
