#pragma once

#include "runtime/checks/check_context.h"

#include <map>
#include <tuple>

namespace bubblescope::runtime {

/// How long a rank takes to execute a part of a layer again: the nominal time where ops keep to theirs, else an average
/// of what it took. For the rank's thread.
class ReexecutionCosts {
public:
    /// `context` must outlive it.
    explicit ReexecutionCosts(const CheckContext& context) : context_(context) {}

    /// `nominal` is that of the layer's whole share of its op. Where the cost is not known, a time that fits nowhere.
    [[nodiscard]] TimeNs of(const CapturedLayer& layer, TimeNs nominal) const;
    /// What it took, where it does not take its nominal time.
    void note(const CapturedLayer& layer, TimeNs took);
    /// Layers of one kind cost the same: 0 the embedding, 1 a block, 2 the head.
    [[nodiscard]] int kindOf(int layer) const { return layer == 0 ? 0 : layer == context_.setup.headLayer() ? 2 : 1; }

private:
    const CheckContext& context_;
    std::map<std::tuple<OpKind, LayerPart, int>, TimeNs> usual_; ///< by op, part and layer
};

} // namespace bubblescope::runtime
