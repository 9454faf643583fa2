#include "core/analysis/accounting/step_parts.h"

#include "core/base/median.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bubblescope {

TimeNs OpParts::of(Cause cause) const {
    switch (cause) {
    case Cause::Imbalance: return imbalance;
    case Cause::Slowdown: return slowdown;
    case Cause::Jitter: return jitter;
    case Cause::Gaps: return gaps;
    case Cause::Communication: return exposed;
    default: return TimeNs{0};
    }
}

StepParts::StepParts(const ObservedStep& observed, const UnitTimes& usual)
    : observed_(observed), typical_(usual.typical), usual_(usual.usual) {
    readDurations();
    findSlowdown();
    const DelayParts& delays = observed.delays;
    const StepGraph& graph = observed.graph;
    present_[indexOf(Cause::Imbalance)] = typical_ != usual_;
    present_[indexOf(Cause::Slowdown)] = !slowed_.empty();
    present_[indexOf(Cause::Jitter)] = slowed() != onDeviceList();
    present_[indexOf(Cause::Communication)] =
        graph.recorded_transfers + graph.estimated_transfers > 0 || !delays.communication.empty() || !exposed_.empty();
    present_[indexOf(Cause::Peer)] = !delays.peer.empty();
    present_[indexOf(Cause::Replay)] = !delays.replay.empty();
    present_[indexOf(Cause::LateStart)] = !delays.late.empty();
}

void StepParts::readDurations() {
    const StepGraph& graph = observed_.graph;
    resizeLarge(durations_, graph.rank.size());
    for (UnitIndex unit = 0; unit < graph.size(); ++unit)
        durations_[StepGraph::at(unit)] = graph.duration(unit);
    if (graph.device_idle.empty() && graph.exposed_comm.empty()) return;
    resizeLarge(on_device_, durations_.size());
    std::ranges::copy(durations_, on_device_.begin());
    for (std::size_t i = 0; i < graph.device_idle.size(); ++i) {
        const TimeNs idle = std::clamp(graph.device_idle[i], TimeNs{0}, durations_[i]);
        on_device_[i] -= idle;
        if (idle > TimeNs{0}) present_.set(indexOf(Cause::Gaps));
    }
    for (std::size_t i = 0; i < graph.exposed_comm.size(); ++i) {
        const TimeNs exposed = std::clamp(graph.exposed_comm[i], TimeNs{0}, on_device_[i]);
        if (exposed == TimeNs{0}) continue;
        if (exposed_.empty()) exposed_.resize(durations_.size());
        exposed_[i] = exposed;
        on_device_[i] -= exposed;
    }
}

void StepParts::findSlowdown() {
    if (usual_ == onDeviceList()) return;
    constexpr double kScale = 1e6; // ratios as integers, for the fast median
    // A few thousand samples are enough for the median. An odd stride avoids aliasing with patterns in the order.
    constexpr std::size_t kSamples = 4096;
    const std::size_t apart = (usual_.size() / kSamples) | 1U;
    std::vector<TimeNs> ratios;
    ratios.reserve(usual_.size() / apart + 1);
    for (std::size_t i = 0; i < usual_.size(); i += apart) {
        if (usual_[i] <= TimeNs{0}) continue;
        const double ratio = static_cast<double>(onDeviceList()[i].count()) / static_cast<double>(usual_[i].count());
        ratios.emplace_back(std::llround(std::min(ratio, kScale) * kScale));
    }
    if (ratios.empty()) return;
    const double pace = static_cast<double>(medianInPlace(ratios).count()) / kScale;
    if (std::abs(pace - 1) < kLeastSlowdown) return;
    resizeLarge(slowed_, usual_.size());
    for (std::size_t i = 0; i < usual_.size(); ++i)
        slowed_[i] = TimeNs{std::llround(static_cast<double>(usual_[i].count()) * pace)};
}

OpParts StepParts::ofOp(std::size_t unit) const {
    OpParts parts;
    parts.imbalance = usual_[unit] - typical_[unit];
    parts.slowdown = slowed()[unit] - usual_[unit];
    parts.jitter = onDeviceList()[unit] - slowed()[unit];
    parts.exposed = exposedIn(unit);
    parts.gaps = durations_[unit] - onDeviceList()[unit] - parts.exposed;
    return parts;
}

std::span<const TimeNs> StepParts::durations(Causes causes) {
    // A cause without effect may be included if that allows using an existing list.
    const bool imbalance = causes[indexOf(Cause::Imbalance)] || !has(Cause::Imbalance);
    const bool slowdown = causes[indexOf(Cause::Slowdown)] || !has(Cause::Slowdown);
    const bool jitter = causes[indexOf(Cause::Jitter)] || (imbalance && slowdown && !has(Cause::Jitter));
    const bool gaps = causes[indexOf(Cause::Gaps)] || !has(Cause::Gaps);
    const bool exposed = causes[indexOf(Cause::Communication)] || exposed_.empty();
    if (imbalance && slowdown && jitter) {
        if (gaps && exposed) return durations_;
        if ((!gaps || !has(Cause::Gaps)) && (!exposed || exposed_.empty())) return onDeviceList();
    }
    const bool bare = (!gaps || !has(Cause::Gaps)) && (!exposed || exposed_.empty()) && !jitter;
    if (bare && imbalance) return slowdown ? slowed() : usual_;
    if (bare && (!slowdown || !has(Cause::Slowdown))) return typical_;
    resizeLarge(mixed_, durations_.size());
    for (std::size_t i = 0; i < durations_.size(); ++i) {
        TimeNs time = typical_[i];
        if (imbalance) time += usual_[i] - typical_[i];
        if (slowdown) time += slowed()[i] - usual_[i];
        if (jitter) time += onDeviceList()[i] - slowed()[i];
        if (gaps) time += durations_[i] - onDeviceList()[i] - exposedIn(i);
        if (exposed) time += exposedIn(i);
        mixed_[i] = std::max(TimeNs{0}, time);
    }
    return mixed_;
}

std::span<const TimeNs> StepParts::delays(Causes causes) {
    delay_.clear();
    const DelayParts& delays = observed_.delays;
    const std::array<std::pair<Cause, const std::vector<TimeNs>*>, 4> parts{
        {{Cause::Communication, &delays.communication},
         {Cause::Peer, &delays.peer},
         {Cause::Replay, &delays.replay},
         {Cause::LateStart, &delays.late}}};
    for (const auto& [cause, part] : parts) {
        if (!causes[indexOf(cause)] || part->empty()) continue;
        if (delay_.empty()) {
            delay_ = *part;
            continue;
        }
        for (std::size_t i = 0; i < delay_.size(); ++i)
            delay_[i] += (*part)[i];
    }
    return delay_;
}

} // namespace bubblescope
