#include "runtime/backend/cuda/green_contexts.h"

#include <dlfcn.h>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

// The driver's functions are looked up at run time and declared here, so that the program starts with an older driver
// or without one, and so that tests can replace them.

namespace bubblescope::runtime {
namespace {

constexpr unsigned kProcessors = 1;    // CU_DEV_RESOURCE_TYPE_SM
constexpr unsigned kDefaultStream = 1; // CU_GREEN_CTX_DEFAULT_STREAM, which is required
constexpr unsigned kNonBlocking = 1;   // CU_STREAM_NON_BLOCKING

/// CUdevResource, version 1.
struct DeviceResource {
    unsigned type = 0;
    unsigned char internal[92] = {};
    unsigned processors = 0;
    unsigned least = 0;     ///< processors of a share
    unsigned alignment = 0; ///< the number of processors is a multiple of this
    unsigned char reserved[36] = {};
};
static_assert(sizeof(DeviceResource) == 144);
#if defined(CUDA_VERSION) && CUDA_VERSION >= 13000
static_assert(sizeof(DeviceResource) == sizeof(CUdevResource) && alignof(DeviceResource) == alignof(CUdevResource));
static_assert(offsetof(DeviceResource, processors) == offsetof(CUdevResource, sm));
static_assert(kProcessors == CU_DEV_RESOURCE_TYPE_SM && kDefaultStream == CU_GREEN_CTX_DEFAULT_STREAM &&
              kNonBlocking == CU_STREAM_NON_BLOCKING);
#endif

using Handle = void*;

} // namespace

struct GreenCalls {
    int (*deviceGet)(int* device, int ordinal) = nullptr;
    int (*getResource)(int device, DeviceResource* resource, unsigned type) = nullptr;
    int (*split)(DeviceResource* result, unsigned* groups, const DeviceResource* input, DeviceResource* remaining,
                 unsigned flags, unsigned least) = nullptr;
    int (*describe)(Handle* description, DeviceResource* resources, unsigned count) = nullptr;
    int (*create)(Handle* context, Handle description, int device, unsigned flags) = nullptr;
    int (*destroy)(Handle context) = nullptr;
    int (*makeStream)(Handle* stream, Handle context, unsigned flags, int priority) = nullptr;
    int (*errorString)(int error, const char** text) = nullptr;

    [[nodiscard]] std::string message(int error) const {
        const char* text = nullptr;
        if (errorString(error, &text) != 0 || text == nullptr) return "error " + std::to_string(error);
        return text;
    }
};

namespace {

Result<GreenCalls> findGreenCalls(const DriverFunctions& driver) {
    GreenCalls calls;
    std::string missing;
    const auto find = [&](const char* name, auto& function) {
        void* const symbol = driver(name);
        if (symbol == nullptr && missing.empty()) missing = name;
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    };
    find("cuDeviceGet", calls.deviceGet);
    find("cuDeviceGetDevResource", calls.getResource);
    find("cuDevSmResourceSplitByCount", calls.split);
    find("cuDevResourceGenerateDesc", calls.describe);
    find("cuGreenCtxCreate", calls.create);
    find("cuGreenCtxDestroy", calls.destroy);
    find("cuGreenCtxStreamCreate", calls.makeStream);
    find("cuGetErrorString", calls.errorString);
    if (!missing.empty())
        return runError("the driver does not provide " + missing, "use a driver for CUDA 12.4 or newer");
    return calls;
}

/// The largest number of processors per share for this many shares; only queries the
/// driver.
std::optional<unsigned> largestShare(const GreenCalls& calls, const DeviceResource& all, unsigned shares) {
    for (unsigned each = all.processors / shares; each > 0; --each) {
        unsigned groups = 0;
        if (calls.split(nullptr, &groups, &all, nullptr, 0, each) == 0 && groups >= shares) return each;
    }
    return std::nullopt;
}

} // namespace

ProcessorShare::ProcessorShare(std::shared_ptr<const GreenCalls> calls, void* context, int processors)
    : calls_(std::move(calls)), context_(context), processors_(processors) {}

ProcessorShare::~ProcessorShare() {
    (void)calls_->destroy(context_);
}

void* ProcessorShare::makeStream(int priority) const {
    Handle stream = nullptr;
    const int error = calls_->makeStream(&stream, context_, kNonBlocking, priority);
    if (error != 0)
        throw std::runtime_error("CUDA cannot create a stream on a share of the SMs: " + calls_->message(error));
    return stream;
}

DriverFunctions loadedDriver() {
    // CUDA's runtime has already loaded the driver, so this call only finds it.
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return [driver](const char* name) { return driver == nullptr ? nullptr : ::dlsym(driver, name); };
}

Result<std::vector<std::shared_ptr<ProcessorShare>>> divideProcessors(const DriverFunctions& driver, int gpu,
                                                                      int shares) {
    BUBBLESCOPE_ASSIGN(const GreenCalls calls, findGreenCalls(driver));
    const auto refused = [&](const char* what, int error) {
        return runError(std::string("the driver cannot ") + what + ": " + calls.message(error));
    };
    int device = 0;
    if (const int error = calls.deviceGet(&device, gpu); error != 0) return refused("find the GPU", error);
    DeviceResource all;
    if (const int error = calls.getResource(device, &all, kProcessors); error != 0)
        return refused("count the SMs", error);
    const auto count = static_cast<unsigned>(shares);
    const std::optional<unsigned> each = largestShare(calls, all, count);
    if (!each) {
        return runError("the driver cannot create " + std::to_string(shares) + " equal shares of " +
                        std::to_string(all.processors) + " SMs (at least " + std::to_string(all.least) + " each)");
    }
    std::vector<DeviceResource> resources(count);
    unsigned made = count;
    if (const int error = calls.split(resources.data(), &made, &all, nullptr, 0, *each); error != 0)
        return refused("divide the SMs", error);
    if (made < count) return runError("the driver created fewer shares than requested");
    const auto shared = std::make_shared<const GreenCalls>(calls);
    std::vector<std::shared_ptr<ProcessorShare>> result;
    for (DeviceResource& resource : resources) {
        Handle description = nullptr;
        if (const int error = calls.describe(&description, &resource, 1); error != 0)
            return refused("describe a share of the SMs", error);
        Handle context = nullptr;
        if (const int error = calls.create(&context, description, device, kDefaultStream); error != 0)
            return refused("use a share of the SMs", error);
        result.push_back(std::make_shared<ProcessorShare>(shared, context, static_cast<int>(resource.processors)));
    }
    return result;
}

} // namespace bubblescope::runtime
