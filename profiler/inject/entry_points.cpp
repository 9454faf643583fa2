#include "profiler/capture/capture.h"
#include "profiler/nccl/plugin.h"
#include "profiler/nvtx/injection.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>

/// All exported functions. CUDA, NVTX and NCCL look them up by name when the environment makes them load the library;
/// the adapters in profiler/python use ctypes. No function here throws, ends the job or writes to its output.

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

Capture* captureForPython() noexcept {
    static Capture* const capture = [] {
        Capture* const made = Capture::ofThisProcess();
        return made != nullptr && made->options().python ? made : nullptr;
    }();
    return capture;
}

constexpr std::uint16_t kOps = nvtx::Names::kPipelineDomain;

/// NCCL looks up the tables without calling a function first, so they must be ready when the library is loaded.
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

/// NVTX_INJECTION64_PATH: called when the process first uses NVTX, once for each copy of NVTX in it.
BUBBLESCOPE_EXPORT int InitializeInjectionNvtx2(nvtx::abi::GetExportTable get_table) {
    return captureForNvtx() != nullptr && nvtx::attach(get_table) ? kDone : kNotForUs;
}
BUBBLESCOPE_EXPORT int InitializeInjectionNvtxExtension(nvtx::abi::ExtensionModule* module) {
    return captureForNvtx() != nullptr && nvtx::attachExtension(module) ? kDone : kNotForUs;
}

/// Called by profiler/python/bubblescope_ranges.py: nested ranges on the calling thread, marks, and properties that are
/// written once. Texts are zero-terminated UTF-8. Any thread. Returns the sum of 1 if the process is recorded, and 2 if
/// the job itself names the ops instead of its framework.
BUBBLESCOPE_EXPORT int bubblescope_recording() {
    const Capture* const capture = captureForPython();
    if (capture == nullptr) return 0;
    return capture->options().python_ranges ? 3 : 1;
}
BUBBLESCOPE_EXPORT void bubblescope_push(const char* name) {
    Capture* const capture = captureForPython();
    if (capture != nullptr && name != nullptr) capture->recorder().push(name, kOps);
}
/// `bytes` is the size of a transfer's payload.
BUBBLESCOPE_EXPORT void bubblescope_push_bytes(const char* name, std::uint64_t bytes) {
    Capture* const capture = captureForPython();
    if (capture == nullptr || name == nullptr) return;
    bubblescope::profiler::HostRecord record;
    record.domain = kOps;
    record.payload = bubblescope::profiler::HostRecord::Payload::Unsigned;
    record.value = bytes;
    record.text = name;
    capture->recorder().push(record);
}
BUBBLESCOPE_EXPORT void bubblescope_pop() {
    if (Capture* const capture = captureForPython()) capture->recorder().pop(kOps);
}
BUBBLESCOPE_EXPORT void bubblescope_mark(const char* name) {
    Capture* const capture = captureForPython();
    if (capture == nullptr || name == nullptr) return;
    bubblescope::profiler::HostRecord record;
    record.type = bubblescope::profiler::HostRecord::Type::Mark;
    record.domain = kOps;
    record.text = name;
    capture->recorder().record(record);
}
BUBBLESCOPE_EXPORT void bubblescope_state(const char* name, const char* value) {
    Capture* const capture = captureForPython();
    if (capture != nullptr && name != nullptr && value != nullptr) capture->state(name, value);
}
BUBBLESCOPE_EXPORT void bubblescope_message(const char* text) {
    Capture* const capture = captureForPython();
    if (capture != nullptr && text != nullptr) capture->message(text);
}

/// Values that the framework reports for a finished step. If `has_loss` is 0 the loss is unknown; so is any value below
/// 0.
BUBBLESCOPE_EXPORT void bubblescope_step_values(std::int64_t step, int has_loss, double loss, std::int64_t tokens,
                                                std::int64_t samples, std::int64_t sequence_length) {
    Capture* const capture = captureForPython();
    if (capture == nullptr) return;
    bubblescope::StepValues values;
    if (has_loss != 0) values.loss = loss;
    if (tokens >= 0) values.tokens = tokens;
    if (samples >= 0) values.samples = samples;
    if (sequence_length >= 0) values.sequence_length = sequence_length;
    capture->stepValues(step, values);
}

/// Called when the job's own profiler is about to use CUPTI; `tool` is the profiler's name. Recording of kernels does
/// not depend on the options for Python.
BUBBLESCOPE_EXPORT void bubblescope_release_cupti(const char* tool) {
    Capture* const capture = Capture::ofThisProcess();
    if (capture != nullptr && tool != nullptr) capture->releaseCupti(tool);
}

/// Returns 1 if the process should run checks in bubbles, and sets their limits: the margin as a fraction, the maximum
/// memory in bytes (below 0 for no limit), and the maximum fraction of a step's time that checks may cost the job.
BUBBLESCOPE_EXPORT int bubblescope_checks(double* margin, std::int64_t* memory, double* cost) {
    const Capture* const capture = captureForPython();
    if (capture == nullptr || !capture->options().checks) return 0;
    if (margin != nullptr) *margin = capture->options().checks_margin;
    if (memory != nullptr) *memory = capture->options().checks_memory.value_or(-1);
    if (cost != nullptr) *cost = capture->options().checks_cost;
    return 1;
}

/// Same layout as bubblescope_aadiff_arg and bubblescope_aadiff_event in bindings/bubblescope_aadiff.h, whose sessions
/// call this function.
struct StatedArg {
    const char* name;
    const char* text;
    std::int64_t number;
};
BUBBLESCOPE_EXPORT void bubblescope_event(const char* track, const char* category, const char* name, std::int64_t start,
                                          std::int64_t end, const StatedArg* args, std::size_t count) {
    Capture* const capture = captureForPython();
    if (capture == nullptr || track == nullptr || category == nullptr || name == nullptr) return;
    try {
        using bubblescope::TimeNs;
        bubblescope::profiler::StatedEvent event{track, category, name, TimeNs{start}, TimeNs{end}, {}};
        for (const StatedArg& arg : std::span(args, count)) {
            if (arg.text != nullptr)
                event.args.push_back({arg.name, std::string(arg.text)});
            else
                event.args.push_back({arg.name, arg.number});
        }
        capture->event(std::move(event));
    } catch (const std::exception&) {
        // Out of memory: the job continues without the event.
    }
}

/// NCCL_PROFILER_PLUGIN: NCCL uses the newest version that it supports.
BUBBLESCOPE_EXPORT const nccl::abi::TableV1 ncclProfiler_v1 = nccl::kTableV1;
BUBBLESCOPE_EXPORT const nccl::abi::TableV1 ncclProfiler_v2 = nccl::kTableV2;
BUBBLESCOPE_EXPORT const nccl::abi::TableV1 ncclProfiler_v3 = nccl::kTableV3;
BUBBLESCOPE_EXPORT const nccl::abi::TableV4 ncclProfiler_v4 = nccl::kTableV4;
BUBBLESCOPE_EXPORT const nccl::abi::TableV5 ncclProfiler_v5 = nccl::kTableV5;
