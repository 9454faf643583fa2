#pragma once

#include "core/base/time.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bubblescope::profiler {

/// How long things took, in bins that are an eighth wide, so that memory stays the same however many there are.
class Latency {
public:
    void add(TimeNs time) {
        ++bins_[binOf(time)];
        ++count_;
        longest_ = std::max(longest_, time);
    }
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] TimeNs longest() const { return longest_; }
    /// No less than this share of them, 0 to 1, took no longer: the upper end of a bin.
    [[nodiscard]] TimeNs quantile(double share) const {
        const double wanted = share * static_cast<double>(count_);
        std::int64_t below = 0;
        for (std::size_t bin = 0; bin < kBins; ++bin) {
            below += bins_[bin];
            if (below > 0 && static_cast<double>(below) >= wanted) return std::min(endOf(bin), longest_);
        }
        return longest_;
    }

private:
    static constexpr std::size_t kParts = 8; ///< of each power of two
    static constexpr std::size_t kBins = 62 * kParts;

    static std::size_t binOf(TimeNs time) {
        const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), kParts));
        const auto power = static_cast<std::size_t>(std::bit_width(value)) - 1; // at least 3
        const auto part = static_cast<std::size_t>(value >> (power - 3)) - kParts;
        return (power - 3) * kParts + part;
    }
    static TimeNs endOf(std::size_t bin) {
        const std::size_t shift = bin / kParts;
        return TimeNs{static_cast<std::int64_t>((kParts + bin % kParts + 1) << shift)};
    }

    std::array<std::int64_t, kBins> bins_{};
    std::int64_t count_ = 0;
    TimeNs longest_{0};
};

} // namespace bubblescope::profiler
