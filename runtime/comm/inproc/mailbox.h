#pragma once

#include "runtime/comm/mail.h"
#include "runtime/comm/message.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace bubblescope::runtime {

/// What has been sent to one rank and not been used yet. Thread-safe: any thread puts, the rank's takes.
class Mailbox {
public:
    /// Never waits. After abort() the message is discarded.
    void put(Rank from, const MessageKey& key, Message message);

    /// Waits for the message; nothing when the run was aborted.
    [[nodiscard]] std::optional<Taken> take(Rank from, const MessageKey& key);

    /// When the message was sent, if it is there.
    [[nodiscard]] std::optional<TimeNs> peek(Rank from, const MessageKey& key);
    /// Whether it is there and `is` says so of it.
    [[nodiscard]] bool arrived(Rank from, const MessageKey& key, const std::function<bool(const Message&)>& is);

    // Mail lies beside the messages.
    void put(Mail mail);
    /// What has come first; `waits` for it if there is none, until the run is aborted.
    [[nodiscard]] std::optional<Mail> takeMail(bool waits);

    /// Wakes the waiting rank; from now on nothing is taken.
    void abort();

private:
    using Label = std::pair<Rank, MessageKey>;

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::map<Label, Message> messages_;
    std::deque<Mail> mail_;
    bool aborted_ = false;
};

} // namespace bubblescope::runtime
