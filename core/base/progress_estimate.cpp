#include "core/base/progress_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bubblescope {
namespace {

constexpr TimeNs kUntilSure{500'000'000};
constexpr double kHalfLife = 1.5e9; // ns
constexpr double kLongest = 1e18;   // ns, thirty years

std::uint64_t ceilDivided(std::uint64_t value, std::uint64_t by) {
    return (value + by - 1) / by;
}

} // namespace

void ProgressEstimate::observe(TimeNs now, std::uint64_t done, std::uint64_t total) {
    total_ = total;
    if (!first_ || done < done_) { // the first call, or a new job
        first_ = last_ = now;
        done_ = done;
        speed_ = 0;
        return;
    }
    const auto passed = static_cast<double>((now - last_).count());
    if (passed <= 0) return;
    const double speed = static_cast<double>(done - done_) / passed;
    // A plain average at first, later weighted according to the half-life.
    const auto known = static_cast<double>((last_ - *first_).count());
    const double kept = known <= 0 ? 0 : std::min(std::exp2(-passed / kHalfLife), known / (known + passed));
    speed_ = kept * speed_ + (1 - kept) * speed;
    done_ = done;
    last_ = now;
}

std::optional<TimeNs> ProgressEstimate::remaining() const {
    if (!first_ || total_ == 0 || done_ >= total_ || last_ - *first_ < kUntilSure || speed_ <= 0) return std::nullopt;
    const double left = static_cast<double>(total_ - done_) / speed_;
    return TimeNs{static_cast<std::int64_t>(std::min(left, kLongest))};
}

std::string ProgressEstimate::text() const {
    constexpr std::uint64_t kMega = 1'000'000;
    if (total_ == 0) return fmt::format("{} MB", done_ / kMega);
    if (readAll()) return fmt::format("{} MB read, sorting", ceilDivided(total_, kMega));
    std::string out = fmt::format("{} of {} MB", done_ / kMega, ceilDivided(total_, kMega));
    if (const auto left = remaining()) out += fmt::format(", about {} left", roughTime(*left));
    return out;
}

std::string roughTime(TimeNs time) {
    const std::uint64_t seconds = std::max<std::uint64_t>(
        1, ceilDivided(static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count())), 1'000'000'000));
    if (seconds <= 10) return fmt::format("{} s", seconds);
    if (seconds <= 90) return fmt::format("{} s", ceilDivided(seconds, 5) * 5);
    if (seconds <= 90 * 60) return fmt::format("{} min", ceilDivided(seconds, 60));
    return fmt::format("{} h", ceilDivided(seconds, 3600));
}

} // namespace bubblescope
