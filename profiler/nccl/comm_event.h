#pragma once

#include "profiler/events/host_record.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::profiler::nccl {

/// An NCCL event, as reported when it begins.
struct CommEvent {
    static constexpr std::int32_t kNone = -1;

    std::uint32_t type = 0; ///< see abi::Event
    std::uint64_t comm = 0; ///< NCCL's id for the communicator
    std::uint64_t sequence = 0;
    std::uint64_t count = 0; ///< number of elements; for a proxy operation, bytes per chunk
    std::int32_t rank = kNone;
    std::int32_t peer = kNone;
    std::int32_t root = kNone;
    std::int32_t channels = 0;    ///< number of channels; for a proxy operation, its channel
    std::int32_t steps = 0;       ///< steps of a proxy operation; otherwise the depth of a group
    bool is_send = false;         ///< true for a proxy operation that sends
    bool graph_captured = false;  ///< true if recorded into a CUDA graph instead of executed
    std::string_view function{};  ///< "AllReduce", "Send"
    std::string_view datatype{};  ///< "ncclFloat32"
    std::string_view algorithm{}; ///< "RING"
    std::string_view protocol{};  ///< "SIMPLE"
};

/// Makes the record for the start of an event. The record refers to the given strings and bytes, so `room` must live as
/// long as the record.
struct CommRoom {
    std::string_view text;
    char letters[HostRecord::kMaxText];
    char bytes[64];
};
[[nodiscard]] HostRecord recordOf(const CommEvent& event, CommRoom& room) noexcept;
/// The inverse of recordOf(); the event's strings refer to the record's strings. Returns nothing if the record is not a
/// CommEvent.
[[nodiscard]] std::optional<CommEvent> commEventOf(const HostRecord& record);

/// Bytes per element of the type with this NCCL name; 0 if the type is unknown.
[[nodiscard]] std::int64_t elementBytes(std::string_view datatype);

/// The communicators of the process; NCCL describes each of them once. May be called by any thread; takes a lock.
struct Communicator {
    std::string name; ///< often empty
    int nodes = 0;
    int ranks = 0;
    int rank = 0;
};
class Communicators {
public:
    void add(std::uint64_t comm, Communicator communicator);
    [[nodiscard]] std::optional<Communicator> find(std::uint64_t comm) const;

    // Ensures that no other thread holds the lock when the process forks.
    void beforeFork() noexcept { mutex_.lock(); }
    void afterFork() noexcept { mutex_.unlock(); }

private:
    mutable std::mutex mutex_;
    std::map<std::uint64_t, Communicator> known_;
};

} // namespace bubblescope::profiler::nccl
