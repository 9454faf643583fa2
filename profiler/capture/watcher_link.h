#pragma once

#include "profiler/events/event_memory.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace bubblescope::profiler {

/// The connection to the `record` that started the job, which writes what a process leaves in its memory when it is
/// killed, leaves without its destructors, or becomes another program. The peer has to be of the same user, or root.
class WatcherLink {
public:
    WatcherLink() = default;
    WatcherLink(const WatcherLink&) = delete;
    WatcherLink& operator=(const WatcherLink&) = delete;

    /// `name`: of an abstract socket. A forked child uses the connection of its parent.
    void connect(std::string_view name) noexcept;
    [[nodiscard]] bool isOpen() const noexcept;
    /// Memory that the watcher holds, too: made here, or, where the limits of this process forbid that, by the watcher,
    /// for which this waits a moment. Null if neither can be.
    [[nodiscard]] std::unique_ptr<EventMemory> sharedMemory(std::size_t bytes) const noexcept;

    /// The message that asks the watcher for memory, and the one that gives it some.
    struct Message {
        enum class Kind : std::uint64_t { Give = 1, Ask = 2 };
        Kind kind = Kind::Give;
        std::uint64_t bytes = 0;
    };

private:
    [[nodiscard]] bool send(const Message& message, int descriptor) const noexcept;
    [[nodiscard]] Descriptor receive() const noexcept;

    int descriptor_ = -1; ///< never closed: the number may be another file's by then
    std::uint64_t inode_ = 0;
};

} // namespace bubblescope::profiler
