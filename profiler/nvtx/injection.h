#pragma once

#include "profiler/events/host_recorder.h"
#include "profiler/nvtx/abi.h"
#include "profiler/nvtx/names.h"

namespace bubblescope::profiler::nvtx {

/// Sets the destination of this process's NVTX events. Each program and library that uses NVTX has its own copy of
/// NVTX, and each copy attaches separately. Both arguments must live as long as the process.
void sendEventsTo(HostRecorder& recorder, Names& names);

/// Attaches to one copy of NVTX by writing our functions into its tables. Returns false if the tables are not
/// available.
[[nodiscard]] bool attach(abi::GetExportTable get_table) noexcept;
/// Like attach(), for an extension; only payloads are handled.
[[nodiscard]] bool attachExtension(abi::ExtensionModule* module) noexcept;

} // namespace bubblescope::profiler::nvtx
