#include "core/timeline/check_log.h"

#include <algorithm>
#include <cstddef>

namespace bubblescope {
namespace {

void merge(std::vector<std::pair<TimeNs, TimeNs>>& spans) {
    std::ranges::sort(spans);
    std::size_t kept = 0;
    for (const auto& span : spans) {
        if (kept > 0 && span.first <= spans[kept - 1].second)
            spans[kept - 1].second = std::max(spans[kept - 1].second, span.second);
        else
            spans[kept++] = span;
    }
    spans.resize(kept);
}

} // namespace

Sentence CheckedDevice::text() const {
    if (host.empty()) return device.empty() ? Sentence() : say("device {}", device);
    return device.empty() ? say("host {}", host) : say("device {} of host {}", device, host);
}

void CheckLog::sort() {
    std::ranges::stable_sort(
        checks, {}, [](const CheckRecord& check) { return std::tuple(placeOf(check), check.step, check.start); });
    std::ranges::stable_sort(
        digests, {}, [](const DigestRecord& digest) { return std::tuple(placeOf(digest), digest.step, digest.time); });
}

std::vector<StepReplays> replaysOf(const CheckLog& log, std::span<const StepTimeline> steps) {
    std::vector<StepReplays> result;
    std::map<std::pair<int, int>, std::size_t> index_of; // by step and replica
    for (const CheckRecord& check : log.checks) {
        if (check.end <= check.start || check.tensor_rank != 0) continue;
        if (result.empty()) {
            result.resize(steps.size());
            for (std::size_t s = 0; s < steps.size(); ++s) {
                result[s].resize(steps[s].ranks.size());
                index_of[{steps[s].index, steps[s].replica}] = s;
            }
        }
        const auto found = index_of.find({check.step, check.replica});
        if (found == index_of.end() || check.rank.index() >= result[found->second].size()) continue;
        result[found->second][check.rank.index()].emplace_back(check.start, check.end);
    }
    for (StepReplays& step : result)
        std::ranges::for_each(step, merge);
    return result;
}

} // namespace bubblescope
