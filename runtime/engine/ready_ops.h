#pragma once

#include "core/graph/dispatch.h"
#include "runtime/engine/rank_exchange.h"
#include "runtime/engine/rank_state.h"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace bubblescope::runtime {

/// The ops of a rank that chooses them by readiness (see RankDispatch); the rank takes inputs as they arrive, in any
/// order. For the rank's thread.
///
/// On an emulated clock, a rank chooses among the inputs that have arrived on that clock when the rank becomes free. If
/// no input has arrived, the rank waits until the host's clock shows the first arrival, so that an input that was sent
/// later but arrives earlier is still considered. A rank on a device chooses after the device has finished its work.
class ReadyOps {
public:
    /// Both arguments must outlive the object.
    ReadyOps(RankState& rank, RankExchange& exchange) : rank_(rank), exchange_(exchange) {}

    void beginStep();
    /// Waits until an op is ready. Returns the op's index in the rank's list, or nothing if all ops have run. Throws
    /// RunEnded if the run has ended.
    [[nodiscard]] std::optional<std::size_t> next();
    /// The inputs of the op at `index`, or of both ops of a pair. Call this for the op that next() returned.
    [[nodiscard]] std::vector<std::optional<Arrival>> take(std::size_t index);

private:
    /// Takes the messages that have arrived for ops that could run.
    void poll();
    [[nodiscard]] bool isThere(const CommTopology::Route& input);
    /// Passes on the inputs that have arrived by `now`.
    void release(TimeNs now);
    /// Waits for an input to arrive; returns the time on the rank's clock.
    [[nodiscard]] TimeNs wait();

    RankState& rank_;
    RankExchange& exchange_;
    std::optional<RankDispatch> dispatch_;   ///< of the current step
    std::map<std::size_t, Arrival> arrived_; ///< arrivals by op index
    std::vector<std::size_t> pending_;       ///< inputs that have not arrived yet on the rank's clock
};

} // namespace bubblescope::runtime
