#pragma once

#include "profiler/events/host_recorder.h"
#include "profiler/nccl/abi.h"
#include "profiler/nccl/comm_event.h"

#include <cstdint>

namespace bubblescope::profiler::nccl {

/// Sets the destination of this process's NCCL events, and the kinds to request (bits of abi::Event). Both arguments
/// must live as long as the process. If `recorder` is null, the plugin declines, and NCCL does not call it again.
void sendEventsTo(HostRecorder* recorder, Communicators& communicators, std::uint32_t mask);

/// The tables that NCCL looks up by name in the library. The handle of an event is its number, so an event needs no
/// memory.
extern const abi::TableV1 kTableV1;
extern const abi::TableV1 kTableV2;
extern const abi::TableV1 kTableV3;
extern const abi::TableV4 kTableV4;
extern const abi::TableV5 kTableV5;

} // namespace bubblescope::profiler::nccl
