#pragma once

#include "core/formats/perfetto/capture_names.h"
#include "profiler/cupti/activity.h"
#include "profiler/events/tick_clock.h"

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace bubblescope::profiler::cupti {

/// Identifies a stream in CUPTI's records. Stream numbers repeat between contexts: the default streams of all devices
/// have the same number.
struct StreamId {
    std::uint32_t context = 0; ///< unique within the process
    std::uint32_t number = 0;

    auto operator<=>(const StreamId&) const = default;
};

/// The CUPTI functions used here, as an interface that tests can replace.
class Api {
public:
    /// Called by CUPTI on threads of the job. `*records` = 0 means as many records as fit.
    using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
    /// Called by a CUPTI thread with a complete buffer.
    using CompleteBuffer = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                    std::size_t valid);
    enum class Subscription : std::uint8_t { Ours, Busy, Failed };
    using Now = std::uint64_t (*)(); ///< nanoseconds

    Api() = default;
    Api(const Api&) = delete;
    Api& operator=(const Api&) = delete;
    virtual ~Api() = default;

    [[nodiscard]] virtual std::uint32_t version() = 0;
    /// Only one tool can subscribe per process. On failure, `reason` names the current subscriber if CUPTI is busy, or
    /// describes the error. Call this before the other functions: it may choose the library that they use.
    [[nodiscard]] virtual Subscription subscribe(std::string& reason) = 0;
    /// Restores CUPTI's own clock and thread ids, which the next tool expects.
    virtual void unsubscribe() = 0;
    [[nodiscard]] virtual bool registerCallbacks(RequestBuffer request, CompleteBuffer complete) = 0;
    /// Uses `now` as the clock for all times. Must come before the first kind is enabled. Returns false if this version
    /// of CUPTI cannot do that; times are then CLOCK_REALTIME.
    [[nodiscard]] virtual bool useClock(Now now) = 0;
    [[nodiscard]] virtual bool enable(std::uint32_t kind) = 0;
    virtual void disable(std::uint32_t kind) = 0;
    /// Delivers the buffers that contain only complete records, or all buffers if `forced`. Must be called without
    /// holding locks.
    virtual void flush(bool forced) = 0;
    /// Returns the record after `record` in a buffer: the first if `record` is null, null after the last.
    [[nodiscard]] virtual std::uint8_t* next(std::uint8_t* buffer, std::size_t valid, std::uint8_t* record) = 0;
    /// Number of records dropped since the last call.
    [[nodiscard]] virtual std::size_t dropped() = 0;
    /// The name of an API call, such as "cudaLaunchKernel"; empty if unknown.
    [[nodiscard]] virtual std::string callName(bool runtime, std::uint32_t number) = 0;
    /// Labels this thread's calls until the matching pop, and everything that these calls start, with this id.
    /// Thread-safe.
    virtual void pushExternal(std::uint64_t id) = 0;
    virtual void popExternal() = 0;
    /// The ids that identify a stream (a CUstream of the current context) in records; none if unknown.
    [[nodiscard]] virtual std::optional<StreamId> streamId(void* stream) = 0;
};

/// CUPTI file names to try, newest first. A CUPTI that is newer than the driver's CUDA version does not start, so newer
/// files are excluded. `driver_version` is 12040 for 12.4; 0 = unknown.
[[nodiscard]] std::vector<std::string> cuptiFiles(int driver_version);

/// Returns the CUPTI library that the process has loaded or, if there is none, the system's library. CUPTI is loaded on
/// demand, so Bubblescope's library also runs without CUPTI. If a library cannot be used by this driver, subscribe()
/// continues with the next file. If none is found, returns null with the reason in `why_not`. The variable
/// BUBBLESCOPE_CUPTI names other files, separated by colons.
[[nodiscard]] std::unique_ptr<Api> loadCupti(std::string& why_not);

/// Subscriber name that CUPTI reports to other tools.
inline constexpr const char* kOurName = "Bubblescope";

/// Set of activity kinds to record.
enum class Scope : std::uint8_t {
    Everything,
    Work,     ///< device activity, the calls that started it, and the external ids of those calls
    Launches, ///< only the activities needed to find the kernels of ops
};

/// Starts CUPTI's recording and collects its buffers. Buffers are reused: the job's threads take a free buffer without
/// a lock, and allocate one only when all are in use. CUPTI's callbacks carry no context, so a process has at most one
/// collector at a time.
class Collector {
public:
    static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
    static constexpr std::size_t kBuffers = 64; ///< maximum number; memory is allocated only for buffers in use

    explicit Collector(std::unique_ptr<Api> api, std::size_t buffer_bytes = kBufferBytes);
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;
    ~Collector();

    /// Starts recording; with `memory`, also of allocations and releases. `notice` receives a message for the user
    /// if some or all activities cannot be recorded.
    [[nodiscard]] bool start(Scope scope, std::string& notice, bool memory = false);
    /// Stops or resumes the recording of calls and device work; allocations are recorded all the time. Records made so
    /// far are delivered as usual. Must not be called by CUPTI's threads.
    void record(bool on);
    /// Stops recording and makes CUPTI deliver the remaining buffers. Only the first call has an effect. At exit, it
    /// must run before CUPTI's own destructors, so register this function with atexit() after CUPTI has been loaded.
    void stop();
    [[nodiscard]] bool isOn() const { return on_; }

    /// Makes CUPTI deliver the buffers that contain only complete records, or all buffers if `forced`. Must not be
    /// called by CUPTI's threads, or while holding a lock that CUPTI's callbacks take.
    void flush(bool forced = false);
    /// Decodes the buffers delivered since the last call, and adds the number of lost records to `counts`. Times are
    /// CLOCK_MONOTONIC. A record has no external id if the id is delivered later; see externalOf(). Not thread-safe.
    void collect(std::vector<OwnedActivity>& out, perfetto::CaptureCounts& counts);

    /// Returns the external id of the call with this correlation, if it was collected recently; 0 = none. Only for the
    /// collecting thread.
    [[nodiscard]] std::uint64_t externalOf(std::uint32_t correlation) const;

    [[nodiscard]] Api& api() { return *api_; }

private:
    struct Completed {
        std::uint8_t* bytes;
        std::size_t valid;
    };

    static void request(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
    static void complete(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                         std::size_t valid);
    [[nodiscard]] std::uint8_t* take() noexcept;
    void giveBack(const std::uint8_t* buffer) noexcept;
    void keepExternal(const Activity& external);
    void decode(const Completed& buffer, std::vector<OwnedActivity>& out, perfetto::CaptureCounts& counts);
    void putOnOurClock(Activity& activity) const;

    enum class State : std::uint8_t { Unmade, Free, Used };
    struct Buffer {
        std::atomic<State> state{State::Unmade};
        std::unique_ptr<std::uint8_t[]> bytes;
    };

    std::unique_ptr<Api> api_;
    std::size_t buffer_bytes_;
    std::uint32_t version_ = 0;
    Scope scope_ = Scope::Everything;
    std::mutex control_mutex_; ///< held while flushing or stopping CUPTI; CUPTI's callbacks do not take it
    std::atomic<bool> on_{false};
    bool monotonic_ = false; ///< true if CUPTI uses our clock
    TickMap clocks_;         ///< clock readings at each collect(), if CUPTI uses its own clock
    bool recording_ = true;  ///< see record()
    std::vector<std::uint32_t> enabled_;
    std::array<Buffer, kBuffers> buffers_;
    std::atomic<std::int64_t> refused_{0};
    std::mutex mutex_; ///< guards the list of complete buffers between CUPTI's threads and the collecting thread
    std::vector<Completed> completed_;
    /// External ids by correlation: first the recent ids, then the earlier ones.
    std::array<std::unordered_map<std::uint32_t, std::uint64_t>, 2> external_;
};

} // namespace bubblescope::profiler::cupti
