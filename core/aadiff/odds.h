#pragma once

#include <array>
#include <span>
#include <string_view>

namespace bubblescope {

/// How often others have seen hardware compute wrongly without a word.
struct PublishedRate {
    std::string_view source;
    double faults = 0;
    double device_hours = 0; ///< in which they were seen

    [[nodiscard]] double perDay(int devices) const { return 24.0 * devices * faults / device_hours; }
};

/// Those that state both numbers, the rarest first:
/// - Llama 3 (arXiv 2407.21783, table 5): 6 interruptions by silent data corruption in 54 days on 16,384 GPUs, found by
///   whatever else went wrong, so rather too few;
/// - AEGIS (OSDI '26): 18 faults on 13 GPUs in 3.5e7 GPU-hours, found by looking for them.
[[nodiscard]] std::span<const PublishedRate> publishedRates();

/// Faults a day at the lowest and at the highest of the published rates.
struct FaultRange {
    double low = 0;
    double high = 0;
};

/// What to expect of a run on `devices`, and of checks that run the share `share` of its work twice.
///
/// Faults are taken to strike single ops, in proportion to compute time and independently of whether an op will be
/// checked. Then one is seen with the chance that its op is run again, which is `share`:
///
///     faults a day = devices · 24 h · rate,    caught a day = share · faults a day
///
/// A device that fails again and again is met sooner, so for lasting faults `caught` is the lower end.
struct FaultOdds {
    FaultRange faults;
    FaultRange caught;
};
[[nodiscard]] FaultOdds faultOdds(int devices, double share);

} // namespace bubblescope
