#include "core/analysis/devices/compare_activity.h"

#include <algorithm>
#include <optional>

namespace bubblescope {

namespace {

std::vector<const DeviceSummary*> devicesOf(const std::vector<FileActivity>& files) {
    std::vector<const DeviceSummary*> out;
    for (const FileActivity& file : files) {
        for (const DeviceSummary& device : file.devices)
            out.push_back(&device);
    }
    return out;
}

TimeNs timeOf(const DeviceTimes& times, ActivityPart part) {
    switch (part) {
    case ActivityPart::Time: return times.span();
    case ActivityPart::Compute: return times.compute();
    case ActivityPart::ExposedCommunication: return times.exposedCommunication();
    case ActivityPart::HiddenCommunication: return times.hiddenCommunication();
    case ActivityPart::Copies: return times.exposedMemory();
    case ActivityPart::Idle: break;
    }
    return times.idle();
}

double shareOf(TimeNs part, TimeNs whole) {
    return whole > TimeNs{0} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

void addParts(const DeviceTimes& a, const DeviceTimes& b, const ActivityChange& of, std::vector<ActivityChange>& out) {
    for (const ActivityPart part : {ActivityPart::Compute, ActivityPart::ExposedCommunication,
                                    ActivityPart::HiddenCommunication, ActivityPart::Copies, ActivityPart::Idle}) {
        ActivityChange change = of;
        change.part = part;
        change.a = timeOf(a, part);
        change.b = timeOf(b, part);
        change.share_a = shareOf(change.a, a.span());
        change.share_b = shareOf(change.b, b.span());
        out.push_back(std::move(change));
    }
}

} // namespace

std::vector<ActivityChange> compareActivity(const std::vector<FileActivity>& a, const std::vector<FileActivity>& b) {
    std::vector<ActivityChange> out;
    const std::optional<StepActivity> step_a = typicalStep(a);
    const std::optional<StepActivity> step_b = typicalStep(b);
    if (step_a && step_b) {
        ActivityChange step;
        step.of_step = true;
        step.a = step_a->duration;
        step.b = step_b->duration;
        step.share_a = step.share_b = 1;
        out.push_back(step);
        if (step_a->times.span() > TimeNs{0} && step_b->times.span() > TimeNs{0})
            addParts(step_a->times, step_b->times, step, out);
    }
    const std::vector<const DeviceSummary*> devices = devicesOf(a);
    const std::vector<const DeviceSummary*> others = devicesOf(b);
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const auto same = std::ranges::find_if(others, [&](const DeviceSummary* other) {
            return other->rank == devices[i]->rank && other->name == devices[i]->name;
        });
        if (same == others.end() && i >= others.size()) continue;
        const DeviceSummary& other = same != others.end() ? **same : *others[i];
        ActivityChange of;
        of.rank = devices[i]->rank;
        of.device = devices[i]->name;
        addParts(devices[i]->times, other.times, of, out);
    }
    return out;
}

} // namespace bubblescope
