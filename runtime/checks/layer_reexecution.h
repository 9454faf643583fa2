#pragma once

#include "runtime/checks/check_context.h"
#include "runtime/checks/peer_checks.h"

#include <vector>

namespace bubblescope::runtime {

/// Repeats captured parts of layers, compares the results bit by bit, and determines a verdict on differences. For the
/// rank's thread.
class LayerReexecution {
public:
    /// Reference arguments must outlive the object.
    LayerReexecution(CheckContext& context, ReexecutionCosts& costs, PeerChecks& peers)
        : context_(context), costs_(costs), peers_(peers) {}

    /// Executes all parts of a layer's op in order, and writes `record`, whose outcome must initially be Skipped.
    /// `nominal` has the same meaning as in ReexecutionCosts. Stops when the input that the rank is waiting for has
    /// arrived. Returns true if a result was obtained.
    bool check(const std::vector<CapturedLayer>& parts, CheckRecord record, TimeNs nominal, IdleClock& clock);

    /// Executes a part two more times. A transient fault of the first execution cannot affect these repetitions, so if
    /// they differ, the part is not deterministic. `clock` is used on a device; it is null on the host, where this
    /// happens within the op that began at `op_begin`.
    void tryTwice(const CapturedLayer& layer, TimeNs op_begin, IdleClock* clock);

private:
    void compare(const CapturedLayer& layer, const LayerResult& second, CheckRecord record, TimeNs nominal,
                 IdleClock* clock);

    CheckContext& context_;
    ReexecutionCosts& costs_;
    PeerChecks& peers_;
};

} // namespace bubblescope::runtime
