#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::perfetto {

/// Readings of two clocks of one host, taken at the same moment.
struct ClockReading {
    TimeNs monotonic{0};
    TimeNs realtime{0};
};

/// Converts the clocks of a file's packets to the trace clock, using the file's snapshots, which read several clocks at
/// the same moment. Clocks may have units other than nanoseconds. A clock may be incremental: each value is then
/// relative to that of the previous packet. Between two snapshots, clocks are assumed to run at the same speed.
class ClockTable {
public:
    ClockTable();

    /// `sequence` is that of the snapshot's packet, because clocks 64 to 127 are private to it. Returns a reading of a
    /// host's monotonic and wall clocks if the snapshot has both. Throws protozero::exception on malformed input.
    std::optional<ClockReading> addSnapshot(std::string_view message, std::uint32_t sequence);

    /// Converts a packet's time to the trace clock. Call this function once per packet with a time, in order, because
    /// incremental clocks depend on it. Returns false if no snapshot relates the clock to the trace clock. In a file
    /// without snapshots, the common clocks are assumed to be equal.
    [[nodiscard]] bool traceTime(std::uint32_t sequence, std::uint32_t clock, std::int64_t timestamp, TimeNs& out);

private:
    using Key = std::pair<std::uint32_t, std::uint32_t>; ///< sequence (0 for shared clocks) and clock id
    struct Clock {
        bool counts_on = false; ///< true if each value is relative to the previous packet
        std::int64_t unit = 1;  ///< ns
        std::int64_t now = 0;   ///< the current value of an incremental clock, in ns
    };
    struct Reading {
        std::int64_t from;
        std::int64_t to;
    };

    /// The conversion of a clock's time to the trace clock.
    struct Route {
        Key key;
        Clock* clock = nullptr;                         ///< null if no snapshot contains the clock
        bool known = false;                             ///< true if a route exists
        std::vector<const std::vector<Reading>*> steps; ///< the readings along the route
    };

    static Key keyOf(std::uint32_t sequence, std::uint32_t clock);
    const Route& routeOf(Key key);
    /// The clocks on the route to the trace clock, which comes last. Empty if there is no route.
    [[nodiscard]] std::vector<Key> routeFrom(Key clock) const;

    Key trace_;
    bool any_snapshot_ = false;
    bool trace_clock_stated_ = false;
    std::map<Key, Clock> clocks_;
    std::map<Key, std::map<Key, std::vector<Reading>>>
        readings_;                ///< readings of two clocks at the same moments, in the order of the file
    std::map<Key, Route> routes_; ///< the routes that were used since the last snapshot
    const Route* last_ = nullptr; ///< latest route, because successive packets usually have the same clock
};

} // namespace bubblescope::perfetto
