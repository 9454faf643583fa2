#pragma once

#include "profiler/events/event_memory.h"

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

    /// The message that requests memory from the watcher, and its answer.
    struct Message {
        enum class Kind : std::uint64_t { Give = 1, Ask = 2 };
        Kind kind = Kind::Give;
        std::uint64_t bytes = 0;
    };

private:
    [[nodiscard]] bool send(const Message& message, int descriptor) const noexcept;
    [[nodiscard]] Descriptor receive() const noexcept;

    int descriptor_ = -1; ///< never closed, because the number may belong to another file by then
    std::uint64_t inode_ = 0;
};

} // namespace bubblescope::profiler
