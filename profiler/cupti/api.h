#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bubblescope::profiler::cupti {

/// The part of CUPTI that is used, as an interface that tests can replace.
class Api {
public:
    /// Called by CUPTI on threads of the job. `*records` = 0 means as many records as fit.
    using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
    /// Called by a thread of CUPTI with a buffer that it has finished.
    using CompleteBuffer = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                    std::size_t valid);
    enum class Subscription : std::uint8_t { Ours, Busy, Failed };

    Api() = default;
    Api(const Api&) = delete;
    Api& operator=(const Api&) = delete;
    virtual ~Api() = default;

    [[nodiscard]] virtual std::uint32_t version() = 0;
    /// Only one tool can subscribe in a process. `reason`: the name of the holder if CUPTI is busy, or the failure.
    [[nodiscard]] virtual Subscription subscribe(std::string& reason) = 0;
    virtual void unsubscribe() = 0;
    [[nodiscard]] virtual bool registerCallbacks(RequestBuffer request, CompleteBuffer complete) = 0;
    [[nodiscard]] virtual bool enable(std::uint32_t kind) = 0;
    virtual void disable(std::uint32_t kind) = 0;
    /// Delivers the buffers whose records are all complete, or all buffers if `forced`. Must be called without locks.
    virtual void flush(bool forced) = 0;
    /// The record after `record` in a buffer, the first if `record` is null; null after the last.
    [[nodiscard]] virtual std::uint8_t* next(std::uint8_t* buffer, std::size_t valid, std::uint8_t* record) = 0;
    /// Number of records dropped since the last call.
    [[nodiscard]] virtual std::size_t dropped() = 0;
    /// The name of an API call, such as "cudaLaunchKernel"; empty if it is not known.
    [[nodiscard]] virtual std::string callName(bool runtime, std::uint32_t number) = 0;
};

/// CUPTI as the process has loaded it, or else the system's. It is loaded on demand, so this library runs without it.
/// Returns null if there is none, with the reason in `why_not`. `path`: the library's file, empty = search for it.
[[nodiscard]] std::unique_ptr<Api> loadCupti(const std::string& path, std::string& why_not);

} // namespace bubblescope::profiler::cupti
