#pragma once

#include "runtime/checks/check_context.h"

#include <map>
#include <tuple>

namespace bubblescope::runtime {

/// The time that a rank needs to execute a part of a layer again: the nominal time if ops take theirs, else an average
/// of measured times. For the rank's thread.
class ReexecutionCosts {
public:
    /// `context` must outlive the object.
    explicit ReexecutionCosts(const CheckContext& context) : context_(context) {}

    /// `nominal` is the layer's part of the nominal time of its op. Returns a time that exceeds every slot if the cost
    /// is not known.
    [[nodiscard]] TimeNs of(const CapturedLayer& layer, TimeNs nominal) const;
    /// Records a measured time, unless executions take nominal times.
    void note(const CapturedLayer& layer, TimeNs took);
    /// Layers of one kind have the same cost: 0 = embedding, 1 = block, 2 = head.
    [[nodiscard]] int kindOf(int layer) const { return layer == 0 ? 0 : layer == context_.setup.headLayer() ? 2 : 1; }

private:
    const CheckContext& context_;
    std::map<std::tuple<OpKind, LayerPart, int>, TimeNs> usual_; ///< by op, part and kind of layer
};

} // namespace bubblescope::runtime
