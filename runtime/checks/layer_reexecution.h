#pragma once

#include "runtime/checks/check_context.h"
#include "runtime/checks/peer_checks.h"
#include "runtime/checks/reexecution_costs.h"

#include <vector>

namespace bubblescope::runtime {

/// Executes captured parts of layers again, compares bits, and finds a verdict on what differs. For the rank's thread.
class LayerReexecution {
public:
    /// References must outlive it.
    LayerReexecution(CheckContext& context, ReexecutionCosts& costs, PeerChecks& peers)
        : context_(context), costs_(costs), peers_(peers) {}

    /// Executes all parts of a layer's op one after the other and writes the record, which is a skipped one so far.
    /// `nominal` as ReexecutionCosts has it. Stops where what the rank waits for has arrived.
    void check(const std::vector<CapturedLayer>& parts, CheckRecord record, TimeNs nominal, IdleClock& clock);

    /// Two executions more, neither of which a transient fault of the first can have hit: what differs between them is
    /// not deterministic. `clock`: of a device; null on the host, where it happens within the op, which
    /// began at `op_begin`.
    void tryTwice(const CapturedLayer& layer, TimeNs op_begin, IdleClock* clock);

private:
    void compare(const CapturedLayer& layer, const LayerResult& second, CheckRecord record, TimeNs nominal,
                 IdleClock* clock);

    CheckContext& context_;
    ReexecutionCosts& costs_;
    PeerChecks& peers_;
};

} // namespace bubblescope::runtime
