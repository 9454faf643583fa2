#pragma once

#include "profiler/events/host_recorder.h"
#include "profiler/nvtx/abi.h"
#include "profiler/nvtx/names.h"

namespace bubblescope::profiler::nvtx {

/// Where the calls of this process's NVTX go. Each program and library that uses NVTX has its own copy, and
/// each attaches by itself. Both must live as long as the process.
void sendEventsTo(HostRecorder& recorder, Names& names);

/// What NVTX asks of a tool that it has loaded: puts our functions into its tables. False where they cannot be had.
[[nodiscard]] bool attach(abi::GetExportTable get_table) noexcept;
/// The same for an extension; all but payloads are left as they are.
[[nodiscard]] bool attachExtension(abi::ExtensionModule* module) noexcept;

} // namespace bubblescope::profiler::nvtx
