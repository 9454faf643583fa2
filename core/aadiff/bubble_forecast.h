#pragma once

#include "core/base/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace bubblescope {

/// Forecasts the length of a rank's next bubble as the shortest of the recent bubbles at the same position in the step.
/// Does not use the mean, because a check that ends too late delays all ranks. Lengths may be measured from any fixed
/// point of the step, such as its start. Not thread-safe.
class BubbleForecast {
public:
    static constexpr std::size_t kLast = 8; ///< number of recent bubbles to compare per position

    void add(std::size_t place, TimeNs length) {
        if (place >= last_.size()) last_.resize(place + 1);
        last_[place].push_back(std::max(length, TimeNs{0}));
        if (last_[place].size() > kLast) last_[place].pop_front();
    }

    /// Empty until `needed` bubbles at this position are known.
    [[nodiscard]] std::optional<TimeNs> shortest(std::size_t place, std::size_t needed) const {
        if (place >= last_.size() || last_[place].size() < std::max<std::size_t>(needed, 1)) return std::nullopt;
        return *std::ranges::min_element(last_[place]);
    }

    /// Checks use only this fraction of the forecast (4/5), because the next bubble may be even shorter.
    static constexpr std::int64_t kUsedParts = 4;
    static constexpr std::int64_t kParts = 5;
    [[nodiscard]] static constexpr TimeNs usable(TimeNs length) { return length * kUsedParts / kParts; }

private:
    std::vector<std::deque<TimeNs>> last_; ///< by place
};

} // namespace bubblescope
