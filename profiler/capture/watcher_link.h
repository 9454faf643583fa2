#pragma once

#include "core/formats/perfetto/capture_names.h"
#include "profiler/events/event_memory.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace bubblescope::profiler {

/// The connection to the `record` process that started the job. The `record` process saves the records left in this
/// process's memory if this process is killed, exits without running destructors, or executes another program. The peer
/// must run as the same user or as root.
class WatcherLink {
public:
    WatcherLink() = default;
    WatcherLink(const WatcherLink&) = delete;
    WatcherLink& operator=(const WatcherLink&) = delete;

    /// `name` is an abstract socket. A forked child uses its parent's connection.
    void connect(std::string_view name) noexcept;
    [[nodiscard]] bool isOpen() const noexcept;
    /// Memory shared with the watcher. If this process's limits forbid creating the memory, the watcher creates it,
    /// which takes a moment longer. Null if neither is possible.
    [[nodiscard]] std::unique_ptr<EventMemory> sharedMemory(std::size_t bytes) const noexcept;

    /// Layout of the request for memory, of the message that offers memory, and of the beginning of an Account.
    struct Message {
        enum class Kind : std::uint64_t { Give = 1, Ask = 2, Account = 3 };
        Kind kind = Kind::Give;
        std::uint64_t bytes = 0;
    };
    /// Sent at exit by a process whose memory the watcher could not map.
    struct Account {
        Message head{Message::Kind::Account, sizeof(Account)};
        std::uint64_t recorded = 0; ///< 1 if the process recorded anything
        std::uint64_t ended = 0;    ///< 1 if the process wrote all its records
        std::int64_t files = 0;     ///< number of files written and not removed
        perfetto::CaptureCounts counts;
        std::uint64_t message_bytes = 0;
        std::uint64_t identity_bytes = 0;
        std::array<char, event_memory::kMessage> message{};
        std::array<char, event_memory::kNotes / 4> identity{}; ///< see processText()
    };
    void state(const Account& account) const noexcept;

private:
    [[nodiscard]] bool send(const void* message, std::size_t bytes, int descriptor) const noexcept;
    [[nodiscard]] Descriptor receive() const noexcept;

    int descriptor_ = -1; ///< never closed, because the job may have reused its number
    std::uint64_t inode_ = 0;
};

} // namespace bubblescope::profiler
