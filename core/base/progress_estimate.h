#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bubblescope {

/// Estimates the remaining time of a job that counts its progress in bytes. Recent speed has more weight (half-life 1.5
/// s), so that the estimate adapts to a slow stage within seconds but ignores a short interruption.
class ProgressEstimate {
public:
    /// Call a few times per second. `now` is a time on any monotonic clock; `total` is 0 while unknown.
    void observe(TimeNs now, std::uint64_t done, std::uint64_t total);

    [[nodiscard]] std::uint64_t done() const { return done_; }
    [[nodiscard]] std::uint64_t total() const { return total_; }
    [[nodiscard]] bool readAll() const { return total_ > 0 && done_ >= total_; }
    /// Recent units of work per second; 0 while unknown.
    [[nodiscard]] double rate() const { return speed_ * 1e9; }
    /// Empty during the first half second, while there is no progress, or if the total is unknown.
    [[nodiscard]] std::optional<TimeNs> remaining() const;

    /// Progress for display: "312 of 1024 MB, about 3 s left"; "1024 MB read, sorting" once all data has been read.
    [[nodiscard]] std::string text() const;

private:
    std::optional<TimeNs> first_;
    TimeNs last_{0};
    std::uint64_t done_ = 0;
    std::uint64_t total_ = 0;
    double speed_ = 0; ///< bytes per nanosecond
};

/// An approximate time for display, rounded up: "1 s", "40 s", "3 min", "2 h".
[[nodiscard]] std::string roughTime(TimeNs time);

} // namespace bubblescope
