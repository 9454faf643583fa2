#pragma once

#include "core/base/result.h"
#include "runtime/comm/control_channel.h"

#include <memory>

namespace bubblescope::runtime {

/// A team of processes that brings its own channel for control messages.
class ControlSource {
public:
    virtual ~ControlSource() = default;
    /// One for all of its processes, which call this together; the team must outlive it.
    [[nodiscard]] virtual Result<std::unique_ptr<ControlChannel>> openControl() = 0;
};

} // namespace bubblescope::runtime
