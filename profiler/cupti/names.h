#pragma once

#include "profiler/cupti/activity.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace bubblescope::profiler::cupti {

/// Returns the name of an API call. `runtime` is true for CUDA's runtime API, and false for the driver API.
using CallName = std::function<std::string(bool runtime, std::uint32_t number)>;

/// Names of activities in traces, as in PyTorch's profiler, so that readers need to know only one convention. Names are
/// cached; not thread-safe.
class ActivityNames {
public:
    explicit ActivityNames(CallName call_name) : call_name_(std::move(call_name)) {}

    /// For kernels, the demangled name. Valid as long as this object exists.
    [[nodiscard]] std::string_view of(const OwnedActivity& given);

private:
    [[nodiscard]] std::string_view readable(const std::string& mangled);
    [[nodiscard]] std::string_view ofCall(const Activity& call);
    [[nodiscard]] std::string_view ofGraph(std::uint32_t graph);

    CallName call_name_;
    std::unordered_map<std::string, std::string> readable_;
    std::map<std::pair<bool, std::uint32_t>, std::string> calls_;
    std::map<std::uint32_t, std::string> graphs_;
};

/// "kernel", "gpu_memcpy", "cuda_runtime" …; empty for activities not shown in traces.
[[nodiscard]] std::string_view categoryOf(const Activity& activity);

/// True for activities that ran on a device: kernels, copies, memsets and graphs.
[[nodiscard]] bool isWork(const Activity& activity);

} // namespace bubblescope::profiler::cupti
