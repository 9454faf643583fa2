#include "core/live/anomaly_log.h"

#include <utility>

namespace bubblescope::live {

std::vector<LiveAnomaly> AnomalyLog::update(std::vector<Anomaly> found, int step) {
    constexpr std::size_t kMaxKnown = 4096;
    std::vector<LiveAnomaly> fresh;
    current_.clear();
    for (Anomaly& anomaly : found) {
        const std::string identity = identityOf(anomaly);
        if (known_.size() >= kMaxKnown && !known_.contains(identity)) continue;
        auto [known, is_new] = known_.try_emplace(identity, LiveAnomaly{anomaly, step, step});
        known->second.anomaly = std::move(anomaly);
        known->second.last_at = step;
        current_.push_back(known->second);
        if (is_new) fresh.push_back(known->second);
    }
    std::erase_if(known_, [&](const auto& entry) { return entry.second.last_at < step - forget_after_; });
    return fresh;
}

void AnomalyLog::clear() {
    current_.clear();
    known_.clear();
}

} // namespace bubblescope::live
