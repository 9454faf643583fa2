#include "profiler/capture/capture.h"
#include "profiler/nccl/plugin.h"
#include "profiler/nvtx/injection.h"

/// The complete list of exported functions, which CUDA, NVTX and NCCL look up by name when the environment makes them
/// load the library. Nothing here throws, ends the job or writes to its output.

using bubblescope::profiler::Capture;
namespace nvtx = bubblescope::profiler::nvtx;
namespace nccl = bubblescope::profiler::nccl;

#define BUBBLESCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kDone = 1;
constexpr int kNotForUs = 0;

Capture* captureForNvtx() noexcept {
    Capture* const capture = Capture::ofThisProcess();
    if (capture == nullptr || !capture->options().nvtx) return nullptr;
    nvtx::sendEventsTo(capture->recorder(), capture->names());
    return capture;
}

/// NCCL looks up the tables without a call before, so they must be ready when the library is loaded.
[[gnu::constructor]] void prepareForNccl() noexcept {
    Capture* const capture = Capture::ofThisProcess();
    if (capture == nullptr || !capture->options().nccl) return;
    namespace abi = nccl::abi;
    std::uint32_t mask = abi::kGroup | abi::kColl | abi::kP2p;
    if (capture->options().mode == bubblescope::profiler::CaptureOptions::Mode::Full) mask |= abi::kProxyOp;
    nccl::sendEventsTo(&capture->recorder(), capture->communicators(), mask);
}

} // namespace

/// CUDA_INJECTION64_PATH: the driver calls it in cuInit().
BUBBLESCOPE_EXPORT int InitializeInjection() {
    if (Capture* const capture = Capture::ofThisProcess()) capture->startCuda();
    return kDone;
}

/// NVTX_INJECTION64_PATH: called when the process uses NVTX for the first time, once for each copy of NVTX in it.
BUBBLESCOPE_EXPORT int InitializeInjectionNvtx2(nvtx::abi::GetExportTable get_table) {
    return captureForNvtx() != nullptr && nvtx::attach(get_table) ? kDone : kNotForUs;
}
BUBBLESCOPE_EXPORT int InitializeInjectionNvtxExtension(nvtx::abi::ExtensionModule* module) {
    return captureForNvtx() != nullptr && nvtx::attachExtension(module) ? kDone : kNotForUs;
}

/// NCCL_PROFILER_PLUGIN: NCCL takes the newest version that it knows.
BUBBLESCOPE_EXPORT const nccl::abi::TableV1 ncclProfiler_v1 = nccl::kTableV1;
BUBBLESCOPE_EXPORT const nccl::abi::TableV1 ncclProfiler_v2 = nccl::kTableV2;
BUBBLESCOPE_EXPORT const nccl::abi::TableV1 ncclProfiler_v3 = nccl::kTableV3;
BUBBLESCOPE_EXPORT const nccl::abi::TableV4 ncclProfiler_v4 = nccl::kTableV4;
BUBBLESCOPE_EXPORT const nccl::abi::TableV5 ncclProfiler_v5 = nccl::kTableV5;
