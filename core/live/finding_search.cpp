#include "core/live/finding_search.h"

#include "core/base/median.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace bubblescope::live {

void FindingSearch::beginRun() {
    anomalies_.clear();
    unsearched_ = 0;
    last_closed_ = -1;
}

void FindingSearch::addStep(int step, bool to_be_searched) {
    unsearched_ += to_be_searched ? 1 : 0;
    last_closed_ = step;
}

bool FindingSearch::isDue(const FollowingSteps& following, const StepWindow& window, std::size_t history,
                          TimeNs now) const {
    constexpr std::int64_t kMostAtOnce = 8; // as many as resolve a finding
    constexpr std::size_t kPartOfRun = 8;   // how much later than with each step something may be found
    constexpr TimeNs kOfRecord{250};        // a search takes a tenth of that
    if (unsearched_ == 0) return false;
    const auto kept = static_cast<std::int64_t>(kept_.last / 3); // so that none is gone before
    const auto part = static_cast<std::int64_t>(history / kPartOfRun);
    if (unsearched_ >= std::clamp<std::int64_t>(std::min(kept, part), 1, kMostAtOnce)) return true;
    // What costs little is reported when two searches found it, so that the last two steps are searched one by one.
    if (following.isAmongLastTwo()) return true;
    const auto records = static_cast<std::int64_t>(window.records());
    return !following.closes_next && now - searched_at_ >= kOfRecord * records;
}

AnomalyLog::Changes FindingSearch::search(const StepWindow& window, const std::deque<LiveStep>& history,
                                          std::optional<TimeNs> wall, TimeNs now) {
    searched_at_ = now;
    // The median of the last steps: one long step is not what a step takes.
    constexpr std::size_t kRecent = 9;
    std::vector<TimeNs> recent;
    if (wall) recent.push_back(*wall);
    for (auto before = history.rbegin(); before != history.rend() && recent.size() < kRecent; ++before) {
        if (before->complete) recent.push_back(before->wall);
    }
    if (recent.empty()) recent.emplace_back(0);
    const int oldest = last_closed_ - static_cast<int>(kept_.last) + 1;
    return anomalies_.update(window.findings(), last_closed_, median(std::move(recent)), oldest,
                             std::exchange(unsearched_, 0));
}

} // namespace bubblescope::live
