#pragma once

#include "core/analysis/clocks/run_clocks.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace bubblescope::profiler {

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

private:
    [[nodiscard]] int numberOf(const std::string& clock);
    void solve();

    std::map<std::string, int> numbers_;
    std::vector<TimeNs> order_; ///< by number: realtime minus monotonic, of the last reading
    std::vector<bool> read_;    ///< whether there was one
    std::deque<Ping> pings_;    ///< the last ones; asker and replier are numbers of clocks
    std::vector<ClockFit> fits_;
    bool solved_ = false;
};

} // namespace bubblescope::profiler
