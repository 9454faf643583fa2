#include "core/analysis/period/host_activity.h"

#include "core/base/text.h"
#include "core/base/time_intervals.h"
#include "core/formats/perfetto/capture_names.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

struct NamePart {
    std::string_view part; ///< in lower case
    HostActivity activity;
};

/// The first entry that a name contains counts.
constexpr std::array kNameParts{
    NamePart{"dataloader", HostActivity::DataLoading},     NamePart{"data-loading", HostActivity::DataLoading},
    NamePart{"data_loading", HostActivity::DataLoading},   NamePart{"loadmicrobatch", HostActivity::DataLoading},
    NamePart{"load_micro", HostActivity::DataLoading},     NamePart{"batch-generator", HostActivity::DataLoading},
    NamePart{"get_batch", HostActivity::DataLoading},      NamePart{"next_batch", HostActivity::DataLoading},
    NamePart{"load_batch", HostActivity::DataLoading},     NamePart{"data_iter", HostActivity::DataLoading},
    NamePart{"evaluat", HostActivity::Evaluation},         NamePart{"validation", HostActivity::Evaluation},
    NamePart{"save_checkpoint", HostActivity::Checkpoint}, NamePart{"save-checkpoint", HostActivity::Checkpoint},
    NamePart{"checkpoint_save", HostActivity::Checkpoint}, NamePart{"torch.save", HostActivity::Checkpoint},
    NamePart{"garbage", HostActivity::GarbageCollection},  NamePart{"gc.collect", HostActivity::GarbageCollection},
    NamePart{"optimizer.step", HostActivity::Optimizer},   NamePart{"optimizerstep", HostActivity::Optimizer},
    NamePart{"optimizer_step", HostActivity::Optimizer},
};

} // namespace

std::optional<HostActivity> activityNamed(std::string_view name) {
    const std::string lower = lowerCase(name);
    if (name == perfetto::kCaptureWaitForCore) return HostActivity::WaitForCore;
    if (lower == "gc") return HostActivity::GarbageCollection;
    if (lower == "checkpoint") return HostActivity::Checkpoint;
    if (lower == "optimizer") return HostActivity::Optimizer;
    const auto found =
        std::ranges::find_if(kNameParts, [&](const NamePart& of) { return lower.find(of.part) != std::string::npos; });
    return found == kNameParts.end() ? std::nullopt : std::optional(found->activity);
}

Result<std::vector<HostActivityTimes>> extractHostActivities(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<HostActivityTimes> files(raw.fileCount());
    std::map<StringId, std::optional<HostActivity>> known;
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (trace.laneOf(slice, id) != LaneKind::Host) continue;
            const auto [named, is_new] = known.try_emplace(trace.sliceNames()[slice]);
            if (is_new) named->second = activityNamed(trace.name(slice));
            if (!named->second) continue;
            files[track.file].of(*named->second).busy.push_back({trace.start(slice), trace.end(slice)});
        }
    }
    for (HostActivityTimes& file : files) {
        for (BusySpans& times : file.times)
            times.busy = unionOf(std::move(times.busy));
    }
    return files;
}

TimeNs timeWithin(const BusySpans& spans, TimeInterval interval) {
    TimeNs time{0};
    auto at = std::ranges::lower_bound(spans.busy, interval.start, {}, &TimeInterval::end);
    for (; at != spans.busy.end() && at->start < interval.end; ++at)
        time += std::max(TimeNs{0}, std::min(at->end, interval.end) - std::max(at->start, interval.start));
    return time;
}

std::string_view hostActivityName(HostActivity activity) {
    switch (activity) {
    case HostActivity::DataLoading: return "data loading";
    case HostActivity::Evaluation: return "evaluation";
    case HostActivity::Checkpoint: return "checkpoint";
    case HostActivity::GarbageCollection: return "garbage collection";
    case HostActivity::Optimizer: return "optimizer";
    case HostActivity::WaitForCore: return "waiting for a core";
    }
    return "";
}

void fields(WireWriter& wire, const BusySpans& value) {
    wire(std::uint64_t{value.busy.size()});
    if (!value.busy.empty()) wire.instant(value.busy.front().start);
    for (std::size_t i = 0; i < value.busy.size(); ++i) {
        if (i > 0) wire.duration(value.busy[i].start - value.busy[i - 1].end);
        wire.duration(value.busy[i].duration());
    }
}

void fields(WireReader& wire, BusySpans& value) {
    std::uint64_t count = 0;
    wire(count);
    if (count > wire.left() / sizeof(TimeNs)) return wire.reject();
    TimeNs at{0};
    if (count > 0) wire.instant(at);
    const auto goOn = [&] {
        TimeNs by{0};
        wire.duration(by);
        if (by > kFarthestWireTime || at > kFarthestWireTime) return wire.reject();
        at += by;
    };
    for (std::uint64_t i = 0; i < count && !wire.failed(); ++i) {
        if (i > 0) goOn();
        const TimeNs start = at;
        goOn();
        value.busy.push_back({start, at});
    }
}

void fields(WireWriter& wire, const HostActivityTimes& value) {
    for (const BusySpans& times : value.times)
        fields(wire, times);
}

void fields(WireReader& wire, HostActivityTimes& value) {
    for (BusySpans& times : value.times)
        fields(wire, times);
}

} // namespace bubblescope
