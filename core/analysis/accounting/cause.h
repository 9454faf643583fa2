#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope {

/// Why ranks wait and a step takes longer than ideal, in the order of the waterfall.
///
/// Each is defined once, on the graph of the step (StepGraph), as a part of the graph's times: of a unit's duration
/// (Imbalance, Slowdown, Jitter, Gaps, Communication), of the delay before it (Communication, Peer, Replay,
/// LateStart), or of the edges between units (Communication: transfers; Order: the sequence of units). The
/// counterfactual is the replay of the graph without that part. The cost is the time by which this replay is shorter.
/// Accounting, critical path, attribution and `whatif --if WORD=0` use the same parts (StepParts). The manual
/// (accounting.md) derives these parts.
enum class Cause : std::uint8_t {
    Schedule,      ///< bubble of the planned order for typical op times and no transfer times: the closed form, if
                   ///< any
    Imbalance,     ///< stages that usually take more or less time than the typical stage
    Slowdown,      ///< all ops of the step took more or less time than usual: clock rate, a noisy neighbour
    Jitter,        ///< ops that took more or less time than usual on their stage, beyond the common slowdown
    Gaps,          ///< the device was idle within ops because the host launched too late
    Communication, ///< transfers in progress, including during a delay, and collectives inside ops
    Order,         ///< an order that differs from the planned one
    Peer,          ///< blocked in a send, receive or wait by a late peer, without a transfer in progress
    Replay,        ///< re-executed work that delayed ops
    LateStart,     ///< ops that started later than possible without a recorded reason: host-bound or launch-bound
    Unknown,       ///< not explained by records: lost records, times below the clock error, contradictory clocks
};
inline constexpr std::size_t kCauseCount = 11;
template <class T>
using PerCause = std::array<T, kCauseCount>;

/// The set of causes that a replay includes.
using Causes = std::bitset<kCauseCount>;

[[nodiscard]] constexpr std::size_t indexOf(Cause cause) {
    return static_cast<std::size_t>(cause);
}

[[nodiscard]] std::string_view causeName(Cause cause); ///< for display: "exposed communication"
[[nodiscard]] std::string_view causeKey(Cause cause);  ///< name in JSON, without "_ns": "exposed_communication"
/// The cause's name in a scenario: `comm` in `whatif --if comm=0`. Empty for Schedule, which every replay includes.
[[nodiscard]] std::string_view causeWord(Cause cause);
[[nodiscard]] std::optional<Cause> causeOfWord(std::string_view word);

} // namespace bubblescope
