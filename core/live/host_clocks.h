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

/// How the clocks of a run's hosts compare while it runs: by the pings that its ranks exchange and, where there are
/// none, by what each host took for the time of day. The first clock that is named is the reference.
///
/// A clock is named as in the files: equal names, equal clocks. One without a name is the reference itself.
class HostClocks {
public:
    void addReading(const std::string& clock, TimeNs monotonic, TimeNs realtime);
    /// Between ranks on these clocks.
    void addPing(const std::string& asker, const std::string& replier, const Ping& ping);

    /// How this clock goes, by the reference; all 0 for the reference.
    [[nodiscard]] const ClockFit& fitOf(const std::string& clock);
    [[nodiscard]] std::size_t clocks() const { return order_.size(); }
    /// How many exchanges the fits rest on.
    [[nodiscard]] std::size_t pings() const { return pings_.size(); }

    /// Another run has begun, of so many places (a place is replica * pp + rank): which clock each uses is not known.
    void setPlaces(std::size_t places, int pp);
    void setClock(std::size_t place, const std::string& clock) { clock_of_place_[place] = clock; }
    /// Empty where it is not known, or there is no such place.
    [[nodiscard]] std::string clockAt(std::size_t place) const;

    /// Puts steps on the reference clock, and reports how. `ranks` are the run's, by place.
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
    std::vector<bool> read_;    ///< whether there was one
    std::deque<Ping> pings_;    ///< the last ones; asker and replier are numbers of clocks
    std::vector<ClockFit> fits_;
    bool solved_ = false;
    std::vector<std::string> clock_of_place_;
    int pp_ = 1;
};

} // namespace bubblescope::live
