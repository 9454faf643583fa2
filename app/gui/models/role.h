#pragma once

#include "core/schedule/op.h"

#include <cstdint>

namespace bubblescope::gui {

/// What a colour stands for on the timeline.
enum class Role : std::uint8_t {
    Forward,
    Backward,
    BackwardInput,
    BackwardWeight,
    Optimizer,
    Bubble,
    Send,
    Receive,
    Wait,
    Check, ///< replayed work inside a bubble
};
inline constexpr std::size_t kRoleCount = 10;

[[nodiscard]] constexpr Role roleOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return Role::Forward;
    case OpKind::Backward: return Role::Backward;
    case OpKind::BackwardInput: return Role::BackwardInput;
    case OpKind::BackwardWeight: return Role::BackwardWeight;
    case OpKind::Optimizer: break;
    }
    return Role::Optimizer;
}

} // namespace bubblescope::gui
