#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace bubblescope::profiler::cupti {

/// What is used of CUPTI, so that tests can stand in for it.
class Api {
public:
    /// Called by CUPTI from the job's threads: `*records` 0 means as many records as fit.
    using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
    /// Called by a thread of CUPTI's own with a buffer that it is done with.
    using CompleteBuffer = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                    std::size_t valid);
    enum class Subscription : std::uint8_t { Ours, Busy, Failed };

    Api() = default;
    Api(const Api&) = delete;
    Api& operator=(const Api&) = delete;
    virtual ~Api() = default;

    [[nodiscard]] virtual std::uint32_t version() = 0;
    /// One tool a process may hold CUPTI. `reason`: the holder's name where it is busy, or what failed.
    [[nodiscard]] virtual Subscription subscribe(std::string& reason) = 0;
    virtual void unsubscribe() = 0;
    [[nodiscard]] virtual bool registerCallbacks(RequestBuffer request, CompleteBuffer complete) = 0;
    [[nodiscard]] virtual bool enable(std::uint32_t kind) = 0;
    virtual void disable(std::uint32_t kind) = 0;
    /// Has buffers handed over whose records are all complete, or all buffers if `forced`. To be called without locks.
    virtual void flush(bool forced) = 0;
    /// The record behind `record` in a buffer, the first for null; null behind the last.
    [[nodiscard]] virtual std::uint8_t* next(std::uint8_t* buffer, std::size_t valid, std::uint8_t* record) = 0;
    /// Records dropped since the last call.
    [[nodiscard]] virtual std::size_t dropped() = 0;
    /// "cudaLaunchKernel"; empty if it is not known.
    [[nodiscard]] virtual std::string callName(bool runtime, std::uint32_t number) = 0;
};

/// CUPTI as the process has it, or as the system does: loaded when asked for, so that this library runs without. Null
/// where there is none, with the reason in `why_not`. `path`: where it lies, empty to look for it.
[[nodiscard]] std::unique_ptr<Api> loadCupti(const std::string& path, std::string& why_not);

} // namespace bubblescope::profiler::cupti
