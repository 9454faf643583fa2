#include "profiler/cupti/collector.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::profiler::cupti {
namespace {

using Code = int; ///< CUptiResult
constexpr Code kSuccess = 0;
constexpr Code kHeldByAnother = 39; // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
constexpr int kDriverDomain = 1;
constexpr int kRuntimeDomain = 2;
constexpr int kDefaultThreadIds = 0;
constexpr int kSystemThreadIds = 1; // thread ids as returned by gettid(), which NVTX's events also carry
constexpr std::uint32_t kForced = 1;

/// Calls that only query state: they start nothing and wait for nothing. Frameworks and libraries make several around
/// each launch, so they would be the majority of call records.
constexpr std::array<std::string_view, 33> kQueries{"cudaDeviceGetAttribute",
                                                    "cudaEventElapsedTime",
                                                    "cudaEventQuery",
                                                    "cudaFuncGetAttributes",
                                                    "cudaGetDevice",
                                                    "cudaGetDeviceCount",
                                                    "cudaGetDeviceProperties",
                                                    "cudaGetLastError",
                                                    "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                                                    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
                                                    "cudaOccupancyMaxActiveClusters",
                                                    "cudaPeekAtLastError",
                                                    "cudaPointerGetAttributes",
                                                    "cudaStreamGetCaptureInfo",
                                                    "cudaStreamGetCaptureInfo_v2",
                                                    "cudaStreamIsCapturing",
                                                    "cudaStreamQuery",
                                                    "cuCtxGetCurrent",
                                                    "cuCtxGetDevice",
                                                    "cuDeviceGet",
                                                    "cuDeviceGetAttribute",
                                                    "cuDevicePrimaryCtxGetState",
                                                    "cuEventQuery",
                                                    "cuFuncGetAttribute",
                                                    "cuGetProcAddress",
                                                    "cuGetProcAddress_v2",
                                                    "cuKernelGetAttribute",
                                                    "cuKernelGetFunction",
                                                    "cuKernelGetName",
                                                    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                                    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
                                                    "cuPointerGetAttribute",
                                                    "cuStreamIsCapturing"};
bool isQuery(std::string name) {
    if (name.ends_with("_ptsz")) name.resize(name.size() - 5);
    return std::ranges::count(kQueries, std::string_view(name)) > 0;
}

constexpr std::uint32_t kMostCalls = 2048; ///< call numbers per domain; CUPTI 13 has fewer than 900

using Subscriber = void*;
using Callback = void (*)(void* user, int domain, std::uint32_t number, const void* data);
struct SubscriberParameters {
    std::size_t struct_size;
    const char* name;
    char* old_name;
    std::size_t old_size;
};

void ignoreCallback(void*, int, std::uint32_t, const void*) {}

/// CUPTI's default clock, registered because a callback cannot be removed.
std::uint64_t realtimeNow() {
    return static_cast<std::uint64_t>(readSystemClock(CLOCK_REALTIME).count());
}

/// A file that may be CUPTI.
struct Candidate {
    std::string file;
    int flags = RTLD_NOW | RTLD_LOCAL;
};

class Library final : public Api {
public:
    explicit Library(std::vector<Candidate> candidates) : candidates_(std::move(candidates)) {}

    /// Loads the next candidate that has the required functions. Returns false if there is none; `reason` then says
    /// why, for files that were loaded.
    bool loadNext(std::string& reason) {
        while (next_ < candidates_.size()) {
            const Candidate& candidate = candidates_[next_++];
            void* const handle = ::dlopen(candidate.file.c_str(), candidate.flags);
            if (handle == nullptr) {
                if (const char* const error = ::dlerror(); candidates_.size() == 1 && error != nullptr) reason = error;
                continue;
            }
            if (std::ranges::count(loaded_, handle) > 0) continue; // the same file by another name
            loaded_.push_back(handle);
            handle_ = handle;
            file_ = candidate.file;
            std::string missing;
            if (find(missing)) return true;
            add(reason, "this CUPTI does not provide " + missing);
        }
        return false;
    }

private:
    /// Adds a message about the loaded file, with the name of the file if there are others.
    void add(std::string& reason, const std::string& why) const {
        if (!reason.empty()) reason += "; ";
        reason += loaded_.size() > 1 || next_ < candidates_.size() ? file_ + ": " + why : why;
    }

    /// Returns false, with the name in `missing`, if a required function is missing.
    bool find(std::string& missing) {
        const auto get = [&](auto& function, const char* name, bool needed = true) {
            function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(handle_, name));
            if (function == nullptr && needed) missing = name;
        };
        get(get_version_, "cuptiGetVersion");
        get(subscribe_, "cuptiSubscribe");
        get(subscribe_v2_, "cuptiSubscribe_v2", false); // since CUDA 13.0
        get(unsubscribe_, "cuptiUnsubscribe");
        get(register_, "cuptiActivityRegisterCallbacks");
        get(enable_, "cuptiActivityEnable");
        get(disable_, "cuptiActivityDisable");
        get(flush_all_, "cuptiActivityFlushAll");
        get(next_record_, "cuptiActivityGetNextRecord");
        get(dropped_, "cuptiActivityGetNumDroppedRecords");
        get(callback_name_, "cuptiGetCallbackName", false);
        get(result_text_, "cuptiGetResultString", false);
        get(thread_ids_, "cuptiSetThreadIdType", false);
        get(timestamps_, "cuptiActivityRegisterTimestampCallback", false); // since CUDA 11.6
        get(push_, "cuptiActivityPushExternalCorrelationId", false);
        get(pop_, "cuptiActivityPopExternalCorrelationId", false);
        get(stream_id_, "cuptiGetStreamIdEx", false);
        get(context_id_, "cuptiGetContextId", false);
        get(enable_runtime_call_, "cuptiActivityEnableRuntimeApi", false); // missing in old versions, like the next
                                                                           // function
        get(enable_driver_call_, "cuptiActivityEnableDriverApi", false);
        return missing.empty();
    }

public:
    std::uint32_t version() override {
        std::uint32_t version = 0;
        return get_version_(&version) == kSuccess ? version : 0;
    }

    Subscription subscribe(std::string& reason) override {
        std::string refused;
        do {
            const Code code = subscribeHere(reason);
            if (code == kSuccess) return Subscription::Ours;
            if (code == kHeldByAnother) return Subscription::Busy;
            add(refused, textOf(code));
            // A CUPTI newer than the driver loads, but does not start. An older one may be next to it.
        } while (loadNext(refused));
        reason = refused;
        return Subscription::Failed;
    }
    void unsubscribe() override {
        if (timestamps_ != nullptr) timestamps_(realtimeNow);
        if (thread_ids_ != nullptr) thread_ids_(kDefaultThreadIds);
        unsubscribe_(subscriber_);
    }

    bool registerCallbacks(RequestBuffer request, CompleteBuffer complete) override {
        return register_(request, complete) == kSuccess;
    }
    bool useClock(Now now) override { return timestamps_ != nullptr && timestamps_(now) == kSuccess; }
    bool enable(std::uint32_t kind) override {
        if (enable_(static_cast<int>(kind)) != kSuccess) return false;
        if (kind == kind::kRuntime || kind == kind::kDriver) leaveOutQueries(kind == kind::kRuntime);
        return true;
    }
    void disable(std::uint32_t kind) override { disable_(static_cast<int>(kind)); }
    void flush(bool forced) override { flush_all_(forced ? kForced : 0); }
    std::uint8_t* next(std::uint8_t* buffer, std::size_t valid, std::uint8_t* record) override {
        void* at = record;
        return next_record_(buffer, valid, &at) == kSuccess ? static_cast<std::uint8_t*>(at) : nullptr;
    }
    std::size_t dropped() override {
        std::size_t count = 0;
        return dropped_(nullptr, 0, &count) == kSuccess ? count : 0;
    }
    std::string callName(bool runtime, std::uint32_t number) override {
        const char* name = nullptr;
        if (callback_name_ == nullptr ||
            callback_name_(runtime ? kRuntimeDomain : kDriverDomain, number, &name) != kSuccess)
            return {};
        std::string text = name == nullptr ? "" : name;
        // "cudaLaunchKernel_v7000": the version suffix is of no use to readers.
        const std::size_t version = text.rfind("_v");
        if (runtime && version != std::string::npos &&
            text.find_first_not_of("0123456789", version + 2) == std::string::npos)
            text.resize(version);
        return text;
    }
    void pushExternal(std::uint64_t id) override {
        if (push_ != nullptr) push_(static_cast<int>(kCustomIds), id);
    }
    void popExternal() override {
        std::uint64_t last = 0;
        if (pop_ != nullptr) pop_(static_cast<int>(kCustomIds), &last);
    }
    std::optional<StreamId> streamId(void* stream) override {
        void* const context = currentContext();
        StreamId id;
        if (stream_id_ == nullptr || context_id_ == nullptr || context == nullptr ||
            context_id_(context, &id.context) != kSuccess || stream_id_(context, stream, 0, &id.number) != kSuccess)
            return std::nullopt;
        return id;
    }

private:
    /// Subscribes to the loaded library; `holder` becomes the current subscriber if it is busy.
    Code subscribeHere(std::string& holder) {
        std::array<char, 128> name{};
        Code code = kSuccess;
        if (subscribe_v2_ != nullptr) {
            SubscriberParameters parameters{sizeof(SubscriberParameters), kOurName, name.data(), name.size() - 1};
            code = subscribe_v2_(&subscriber_, ignoreCallback, nullptr, &parameters);
        } else {
            code = subscribe_(&subscriber_, ignoreCallback, nullptr);
        }
        if (code == kHeldByAnother) holder = name.data();
        if (code == kSuccess && thread_ids_ != nullptr) thread_ids_(kSystemThreadIds);
        return code;
    }
    /// Call it after enabling the kind of all calls, which includes these.
    void leaveOutQueries(bool runtime) {
        const auto enable_call = runtime ? enable_runtime_call_ : enable_driver_call_;
        if (enable_call == nullptr) return;
        std::vector<std::uint32_t>& queries = queries_[runtime ? 1 : 0];
        for (std::uint32_t number = 1; queries.empty() && number < kMostCalls; ++number)
            if (isQuery(callName(runtime, number))) queries.push_back(number);
        for (const std::uint32_t number : queries)
            enable_call(number, 0);
    }
    /// The driver's current context. If a stream exists, the driver is loaded; a stand-in for CUPTI has a separate
    /// context.
    [[nodiscard]] void* currentContext() const {
        void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        const auto get =
            reinterpret_cast<Code (*)(void**)>(::dlsym(driver == nullptr ? handle_ : driver, "cuCtxGetCurrent"));
        void* context = nullptr;
        return get != nullptr && get(&context) == kSuccess ? context : nullptr;
    }
    [[nodiscard]] std::string textOf(Code code) const {
        const char* text = nullptr;
        if (result_text_ != nullptr) result_text_(code, &text);
        return text != nullptr ? text : "error " + std::to_string(code);
    }

    std::vector<Candidate> candidates_;
    std::size_t next_ = 0;
    std::vector<void*> loaded_; ///< never closed, because CUPTI runs its own threads
    void* handle_ = nullptr;    ///< the library in use, the last one loaded
    std::string file_;
    Subscriber subscriber_ = nullptr;
    Code (*get_version_)(std::uint32_t*) = nullptr;
    Code (*subscribe_)(Subscriber*, Callback, void*) = nullptr;
    Code (*subscribe_v2_)(Subscriber*, Callback, void*, SubscriberParameters*) = nullptr;
    Code (*unsubscribe_)(Subscriber) = nullptr;
    Code (*register_)(RequestBuffer, CompleteBuffer) = nullptr;
    Code (*enable_)(int) = nullptr;
    Code (*disable_)(int) = nullptr;
    Code (*flush_all_)(std::uint32_t) = nullptr;
    Code (*next_record_)(std::uint8_t*, std::size_t, void**) = nullptr;
    Code (*dropped_)(void*, std::uint32_t, std::size_t*) = nullptr;
    Code (*callback_name_)(int, std::uint32_t, const char**) = nullptr;
    Code (*result_text_)(Code, const char**) = nullptr;
    Code (*thread_ids_)(int) = nullptr;
    Code (*timestamps_)(Now) = nullptr;
    Code (*push_)(int, std::uint64_t) = nullptr;
    Code (*pop_)(int, std::uint64_t*) = nullptr;
    Code (*stream_id_)(void*, void*, std::uint8_t, std::uint32_t*) = nullptr;
    Code (*context_id_)(void*, std::uint32_t*) = nullptr;
    Code (*enable_runtime_call_)(std::uint32_t, std::uint8_t) = nullptr;
    Code (*enable_driver_call_)(std::uint32_t, std::uint8_t) = nullptr;
    std::array<std::vector<std::uint32_t>, 2> queries_; ///< call numbers of kQueries in the driver and the runtime
};

int driverVersion() {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto get =
        driver == nullptr ? nullptr : reinterpret_cast<Code (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
    int version = 0;
    return get != nullptr && get(&version) == kSuccess ? version : 0;
}

/// Prefers the library that the job has loaded; the system's library may be a different version.
std::vector<Candidate> candidates() {
    std::vector<Candidate> found;
    const char* const given = std::getenv("BUBBLESCOPE_CUPTI");
    if (std::string files = given == nullptr ? "" : given; !files.empty()) {
        for (std::size_t end = 0; !files.empty(); files.erase(0, end == std::string::npos ? end : end + 1)) {
            end = files.find(':');
            found.push_back({files.substr(0, end)});
        }
        return found;
    }
    for (const std::string& name : cuptiFiles(0))
        found.push_back({name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD});
    for (const std::string& name : cuptiFiles(driverVersion()))
        found.push_back({name});
    for (const char* const place :
         {"/usr/local/cuda/lib64/libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"})
        found.push_back({place});
    return found;
}

} // namespace

std::vector<std::string> cuptiFiles(int driver_version) {
    constexpr int kMajor = 1000;
    std::vector<std::string> files;
    for (const auto& [major, file] :
         {std::pair{13, "libcupti.so.13"}, {12, "libcupti.so.12"}, {11, "libcupti.so.11.2"}}) {
        if (driver_version == 0 || driver_version >= major * kMajor) files.emplace_back(file);
    }
    files.emplace_back("libcupti.so");
    return files;
}

std::unique_ptr<Api> loadCupti(std::string& why_not) {
    auto library = std::make_unique<Library>(candidates());
    why_not.clear();
    if (library->loadNext(why_not)) return library;
    if (why_not.empty()) why_not = "CUPTI (libcupti.so) is neither loaded nor on the library path";
    return nullptr;
}

} // namespace bubblescope::profiler::cupti
