#include "profiler/cupti/names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace bubblescope::profiler::cupti {
namespace {

using Kind = Activity::Kind;

std::string_view copyName(std::uint32_t kind) {
    switch (kind) {
    case 1: return "Memcpy HtoD";
    case 2: return "Memcpy DtoH";
    case 3: return "Memcpy HtoA";
    case 4: return "Memcpy AtoH";
    case 5: return "Memcpy AtoA";
    case 6: return "Memcpy AtoD";
    case 7: return "Memcpy DtoA";
    case 8: return "Memcpy DtoD";
    case 9: return "Memcpy HtoH";
    case 10: return "Memcpy PtoP";
    default: return "Memcpy";
    }
}

std::string_view synchronizationName(std::uint32_t type) {
    switch (type) {
    case 1: return "Event Sync";
    case 2: return "Stream Wait Event";
    case 3: return "Stream Sync";
    case 4: return "Context Sync";
    default: return "Sync";
    }
}

std::string_view overheadName(std::uint32_t kind) {
    constexpr unsigned kShift = 16; // CUPTI's own kinds begin above this
    switch (kind) {
    case 1: return "Driver Compiler";
    case 1U << kShift: return "Activity Buffer Flush";
    case 2U << kShift: return "Instrumentation";
    case 3U << kShift: return "Resource";
    case 4U << kShift: return "Runtime Triggered Module Loading";
    case 5U << kShift: return "Lazy Function Loading";
    case 6U << kShift: return "Command Buffer Full";
    case 7U << kShift: return "Activity Buffer Request";
    case 8U << kShift: return "UVM Activity Init";
    default: return "Unrecognized overhead";
    }
}

} // namespace

std::string_view ActivityNames::of(const OwnedActivity& given) {
    const Activity& activity = given.activity;
    switch (activity.kind) {
    case Kind::Kernel: return readable(given.name);
    case Kind::Copy: return copyName(activity.what);
    case Kind::Set: return "Memset";
    case Kind::Graph: return ofGraph(activity.graph);
    case Kind::Driver:
    case Kind::Runtime: return ofCall(activity);
    case Kind::Synchronization: return synchronizationName(activity.what);
    case Kind::Overhead: return overheadName(activity.what);
    case Kind::Marker:
    case Kind::MarkerData:
    case Kind::Allocation:
    case Kind::Release:
    case Kind::External:
    case Kind::Device:
    case Kind::Name: break;
    }
    return given.name;
}

std::string_view ActivityNames::readable(const std::string& mangled) {
    const auto [place, is_new] = readable_.try_emplace(mangled, mangled);
    if (is_new) {
        int status = 0;
        const std::unique_ptr<char, void (*)(void*)> name(
            ::abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
        if (status == 0 && name != nullptr) place->second = name.get();
    }
    return place->second;
}

std::string_view ActivityNames::ofCall(const Activity& call) {
    const bool runtime = call.kind == Kind::Runtime;
    const auto [place, is_new] = calls_.try_emplace({runtime, call.what});
    if (is_new && call_name_) place->second = call_name_(runtime, call.what);
    if (place->second.empty()) place->second = (runtime ? "runtime call " : "driver call ") + std::to_string(call.what);
    return place->second;
}

std::string_view ActivityNames::ofGraph(std::uint32_t graph) {
    const auto [place, is_new] = graphs_.try_emplace(graph);
    if (is_new) place->second = "CUDA graph " + std::to_string(graph);
    return place->second;
}

std::string_view categoryOf(const Activity& activity) {
    switch (activity.kind) {
    case Kind::Kernel:
    case Kind::Graph: return "kernel";
    case Kind::Copy: return "gpu_memcpy";
    case Kind::Set: return "gpu_memset";
    case Kind::Driver: return "cuda_driver";
    case Kind::Runtime: return "cuda_runtime";
    case Kind::Synchronization: return "cuda_sync";
    case Kind::Overhead: return "overhead";
    case Kind::Marker:
    case Kind::MarkerData:
    case Kind::Allocation:
    case Kind::Release:
    case Kind::External:
    case Kind::Device:
    case Kind::Name: break;
    }
    return {};
}

bool isWork(const Activity& activity) {
    return activity.kind == Kind::Kernel || activity.kind == Kind::Copy || activity.kind == Kind::Set ||
           activity.kind == Kind::Graph;
}

} // namespace bubblescope::profiler::cupti
