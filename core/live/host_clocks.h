#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/live/live_view.h"

#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace bubblescope::live {

/// Relates the clocks of a run's hosts while the run is in progress: from the pings that its ranks exchange or, if
/// there are none, from each host's time of day. The first clock added is the reference.
///
/// Clocks have the names used in the files; equal names mean the same clock. A clock without a name is the reference.
class HostClocks {
public:
    void addReading(const std::string& clock, TimeNs monotonic, TimeNs realtime);
    /// Adds a ping between two ranks with these clocks.
    void addPing(const std::string& asker, const std::string& replier, const Ping& ping);

    /// Relation between this clock and the reference; all values are 0 for the reference.
    [[nodiscard]] const ClockFit& fitOf(const std::string& clock);
    [[nodiscard]] std::size_t clocks() const { return order_.size(); }
    /// Number of pings on which the fits are based.
    [[nodiscard]] std::size_t pings() const { return pings_.size(); }

    /// Starts a new run with this many places (a place is replica * pp + rank), whose clocks are
    /// unknown.
    void setPlaces(std::size_t places, int pp);
    void setClock(std::size_t place, const std::string& clock) { clock_of_place_[place] = clock; }
    /// Name of the clock; empty if unknown or if the place does not exist.
    [[nodiscard]] std::string clockAt(std::size_t place) const;

    /// Converts steps to the reference clock and returns the clocks used. `ranks` contains the run's ranks by
    /// place.
    RunClocks align(std::vector<StepTimeline>& timelines, std::span<const LiveRank> ranks);
    void align(std::vector<CheckRecord>& checks);

private:
    [[nodiscard]] std::size_t placeOf(int replica, std::size_t rank) const {
        return static_cast<std::size_t>(replica) * static_cast<std::size_t>(pp_) + rank;
    }
    [[nodiscard]] int numberOf(const std::string& clock);
    void solve();

    std::map<std::string, int> numbers_;
    std::vector<TimeNs> order_; ///< by clock number: CLOCK_REALTIME minus CLOCK_MONOTONIC in the latest reading
    std::vector<bool> read_;    ///< true if a reading exists
    std::deque<Ping> pings_;    ///< recent pings; asker and replier are clock numbers
    std::vector<ClockFit> fits_;
    bool solved_ = false;
    std::vector<std::string> clock_of_place_;
    int pp_ = 1;
};

} // namespace bubblescope::live
