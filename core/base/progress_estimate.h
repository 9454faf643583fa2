#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <optional>
#include <string>

namespace bubblescope {

/// How long a job that counts bytes will still take, by how fast it was of late: speeds count the less the longer ago
/// they are (half as much after a second and a half), so that a slow stage tells soon and a hiccup does not.
class ProgressEstimate {
public:
    /// To be called a few times a second. `now` comes from any clock that only goes forward; `total` is 0 while
    /// unknown.
    void observe(TimeNs now, std::uint64_t done, std::uint64_t total);

    [[nodiscard]] std::uint64_t done() const { return done_; }
    [[nodiscard]] std::uint64_t total() const { return total_; }
    [[nodiscard]] bool readAll() const { return total_ > 0 && done_ >= total_; }
    /// Nothing in the first half second, while nothing moves, and where the total is unknown.
    [[nodiscard]] std::optional<TimeNs> remaining() const;

    /// For people: "312 of 1024 MB, about 3 s left"; "putting in order" once all is read.
    [[nodiscard]] std::string text() const;

private:
    std::optional<TimeNs> first_;
    TimeNs last_{0};
    std::uint64_t done_ = 0;
    std::uint64_t total_ = 0;
    double speed_ = 0; ///< bytes per nanosecond
};

/// A rough time for people: "1 s", "40 s", "3 min", "2 h"; rounded up, so that it is not too good.
[[nodiscard]] std::string roughTime(TimeNs time);

} // namespace bubblescope
