#pragma once

#include "core/formats/perfetto/capture_names.h"
#include "profiler/events/event_memory.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

namespace bubblescope::profiler {

/// The connection to the `record` that started the job, which writes what a process leaves in its memory when it is
/// killed, exits without destructors, or becomes another program. The peer must belong to the same user, or root.
class WatcherLink {
public:
    WatcherLink() = default;
    WatcherLink(const WatcherLink&) = delete;
    WatcherLink& operator=(const WatcherLink&) = delete;

    /// `name` is an abstract socket. A forked child uses its parent's connection.
    void connect(std::string_view name) noexcept;
    [[nodiscard]] bool isOpen() const noexcept;
    /// Memory shared with the watcher: made here or, if the limits of this process forbid that, by the watcher, which
    /// takes a moment. Null if neither is possible.
    [[nodiscard]] std::unique_ptr<EventMemory> sharedMemory(std::size_t bytes) const noexcept;

    /// The message that asks the watcher for memory, the one that gives it some, and the beginning of an Account.
    struct Message {
        enum class Kind : std::uint64_t { Give = 1, Ask = 2, Account = 3 };
        Kind kind = Kind::Give;
        std::uint64_t bytes = 0;
    };
    /// What a process states at its end whose memory the watcher could not hold.
    struct Account {
        Message head{Message::Kind::Account, sizeof(Account)};
        std::uint64_t recorded = 0; ///< 1: it recorded anything
        std::uint64_t ended = 0;    ///< 1: it wrote everything
        std::int64_t files = 0;     ///< that it wrote and did not remove
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

    int descriptor_ = -1; ///< never closed, because the number may belong to another file by then
    std::uint64_t inode_ = 0;
};

} // namespace bubblescope::profiler
