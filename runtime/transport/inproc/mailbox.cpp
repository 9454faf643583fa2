#include "runtime/transport/inproc/mailbox.h"

#include <utility>

namespace bubblescope::runtime {

void Mailbox::put(const MessageKey& key, Message message) {
    {
        const std::lock_guard lock(mutex_);
        if (aborted_) return;
        messages_.insert_or_assign(key, std::move(message));
    }
    arrived_.notify_one();
}

std::optional<Mailbox::Taken> Mailbox::take(const MessageKey& key) {
    std::unique_lock lock(mutex_);
    auto found = messages_.find(key);
    const bool waited = found == messages_.end();
    arrived_.wait(lock, [&] { return aborted_ || (found = messages_.find(key)) != messages_.end(); });
    if (aborted_) return std::nullopt;
    Taken taken{std::move(found->second), waited};
    messages_.erase(found);
    return taken;
}

void Mailbox::abort() {
    {
        const std::lock_guard lock(mutex_);
        aborted_ = true;
    }
    arrived_.notify_all();
}

} // namespace bubblescope::runtime
