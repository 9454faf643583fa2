#pragma once

#include "core/formats/perfetto/capture_names.h"
#include "profiler/cupti/activity.h"
#include "profiler/cupti/api.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace bubblescope::profiler::cupti {

/// Makes CUPTI record, and collects its buffers. Buffers are reused: the job's threads take a free one without a lock
/// and, until all are in use, without allocating. CUPTI's callbacks carry no context, so a process has at most one
/// collector at a time.
class Collector {
public:
    static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
    static constexpr std::size_t kBuffers = 64; ///< at most; memory is allocated only for those in use

    explicit Collector(std::unique_ptr<Api> api, std::size_t buffer_bytes = kBufferBytes);
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;
    ~Collector();

    /// Starts recording. If another tool holds CUPTI, its state is left alone. `notice` receives what the user should
    /// know: why nothing is recorded, or what is missing. `only_launches`: records only what is needed to find the
    /// kernels of ops.
    [[nodiscard]] bool start(bool only_launches, std::string& notice);
    /// Stops recording, and makes CUPTI deliver the rest. Only the first call has an effect.
    void stop();
    [[nodiscard]] bool isOn() const { return on_; }

    /// Makes CUPTI deliver complete buffers. Must not be called by CUPTI's threads, nor with a lock held.
    void flush();
    /// Decodes what was delivered since the last call, and adds lost records to `counts`. One thread at a time.
    void collect(std::vector<OwnedActivity>& out, perfetto::CaptureCounts& counts);

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
    void decode(const Completed& buffer, std::vector<OwnedActivity>& out, perfetto::CaptureCounts& counts);

    enum class State : std::uint8_t { Unmade, Free, Used };
    struct Buffer {
        std::atomic<State> state{State::Unmade};
        std::unique_ptr<std::uint8_t[]> bytes;
    };

    std::unique_ptr<Api> api_;
    std::size_t buffer_bytes_;
    std::uint32_t version_ = 0;
    bool on_ = false;
    std::vector<std::uint32_t> enabled_;
    std::array<Buffer, kBuffers> buffers_;
    std::atomic<std::int64_t> refused_{0};
    std::mutex mutex_; ///< guards the list of complete buffers between CUPTI's threads and the collecting thread
    std::vector<Completed> completed_;
    std::unordered_map<std::uint32_t, std::uint64_t> external_; ///< external ids by correlation
};

} // namespace bubblescope::profiler::cupti
