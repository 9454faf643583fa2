#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::perfetto {

/// Relates the clocks of a file's packets to the trace's, by the snapshots in it that read several clocks at once.
/// Clocks may count in other units than nanoseconds, and from packet to packet instead of from a beginning. Between two
/// snapshots clocks are taken to run alike.
class ClockTable {
public:
    ClockTable();

    /// `sequence` is that of the snapshot's packet: clocks 64 to 127 are its own. Throws protozero::exception on
    /// malformed input.
    void addSnapshot(std::string_view message, std::uint32_t sequence);

    /// Puts a packet's time on the trace's clock. To be asked once for every packet that has a time, in their order,
    /// since some clocks count from one to the next. False if no snapshot relates the clock to the trace's; where a
    /// file has no snapshot at all, its common clocks are taken for one.
    [[nodiscard]] bool traceTime(std::uint32_t sequence, std::uint32_t clock, std::int64_t timestamp, TimeNs& out);

private:
    using Key = std::pair<std::uint32_t, std::uint32_t>; ///< sequence (0 where all share the clock) and clock
    struct Clock {
        bool counts_on = false; ///< from packet to packet
        std::int64_t unit = 1;  ///< ns
        std::int64_t now = 0;   ///< where it counts on, in ns
    };
    struct Reading {
        std::int64_t from;
        std::int64_t to;
    };

    /// How a clock's time becomes the trace's.
    struct Route {
        Key key;
        Clock* clock = nullptr;                         ///< nothing where no snapshot names it
        bool known = false;                             ///< that there is a way
        std::vector<const std::vector<Reading>*> steps; ///< the way's
    };

    static Key keyOf(std::uint32_t sequence, std::uint32_t clock);
    const Route& routeOf(Key key);
    /// The clocks to pass on the way to the trace's, which is the last; empty if there is no way.
    [[nodiscard]] std::vector<Key> wayFrom(Key clock) const;

    Key trace_;
    bool any_snapshot_ = false;
    bool trace_clock_told_ = false;
    std::map<Key, Clock> clocks_;
    std::map<Key, std::map<Key, std::vector<Reading>>> readings_; ///< of two clocks at once, in the file's order
    std::map<Key, Route> routes_;                                 ///< those asked for since the last snapshot
    const Route* last_ = nullptr;                                 ///< packets of one clock come in runs
};

} // namespace bubblescope::perfetto
