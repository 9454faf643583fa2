#pragma once

#include "runtime/backend/accelerator/device_tensor.h"
#include "runtime/model/layer_watch.h"

namespace bubblescope::runtime {

/// Known answers (runtime/model/known_answers.h) on a device, from factors stored as T. The answers are in float and
/// lie as on the host, so that their digests are the same.
template <class T>
class DeviceKnown {
public:
    /// Takes the inputs there; waits.
    explicit DeviceKnown(WorkQueue& on);

    /// Computes one on `on`, a queue of the rank, and shows it.
    void compute(CheckedTensor tensor, RankQueue& rank, WorkQueue& on, LayerProbe& probe) const;

private:
    Buffer input_; ///< column by column, as T
    Buffer rows_;  ///< the same row by row
    Buffer exact_; ///< as float, column by column
    Buffer weight_;
    Buffer bias_; ///< a row of it for each row of the product, in float
};

} // namespace bubblescope::runtime
