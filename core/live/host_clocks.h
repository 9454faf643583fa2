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

/// Relates the clocks of a run's hosts while it runs: by the pings that its ranks exchange or, without pings, by each
/// host's time of day. The first clock added is the reference.
///
/// Clocks are named as in the files: equal names mean equal clocks. A clock without a name is the reference itself.
class HostClocks {
public:
    void addReading(const std::string& clock, TimeNs monotonic, TimeNs realtime);
    /// Adds an exchange between ranks on these clocks.
    void addPing(const std::string& asker, const std::string& replier, const Ping& ping);

    /// The relation of this clock to the reference; all 0 for the reference.
    [[nodiscard]] const ClockFit& fitOf(const std::string& clock);
    [[nodiscard]] std::size_t clocks() const { return order_.size(); }
    /// The number of exchanges that the fits are based on.
    [[nodiscard]] std::size_t pings() const { return pings_.size(); }

    /// Call when another run begins, with this many places (a place is replica * pp + rank); the clock of each is
    /// unknown.
    void setPlaces(std::size_t places, int pp);
    void setClock(std::size_t place, const std::string& clock) { clock_of_place_[place] = clock; }
    /// Empty if unknown, or if there is no such place.
    [[nodiscard]] std::string clockAt(std::size_t place) const;

    /// Moves steps to the reference clock, and returns the clocks that were used. `ranks` are those of the run, by
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
    std::vector<TimeNs> order_; ///< by number: realtime minus monotonic, of the last reading
    std::vector<bool> read_;    ///< true if there is a reading
    std::deque<Ping> pings_;    ///< the latest ones; asker and replier are numbers of clocks
    std::vector<ClockFit> fits_;
    bool solved_ = false;
    std::vector<std::string> clock_of_place_;
    int pp_ = 1;
};

} // namespace bubblescope::live
