#include "runtime/comm/inproc/mailbox.h"

namespace bubblescope::runtime {

void Mailbox::put(Rank from, const MessageKey& key, Message message) {
    {
        const std::lock_guard lock(mutex_);
        if (aborted_) return;
        messages_.insert_or_assign({from, key}, std::move(message));
    }
    arrived_.notify_one();
}

std::optional<Taken> Mailbox::take(Rank from, const MessageKey& key) {
    const Label label{from, key};
    std::unique_lock lock(mutex_);
    auto found = messages_.find(label);
    const bool waited = found == messages_.end();
    arrived_.wait(lock, [&] { return aborted_ || (found = messages_.find(label)) != messages_.end(); });
    if (aborted_) return std::nullopt;
    Taken taken{std::move(found->second), waited};
    messages_.erase(found);
    return taken;
}

std::optional<TimeNs> Mailbox::peek(Rank from, const MessageKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find({from, key});
    if (found == messages_.end()) return std::nullopt;
    return found->second.sent;
}

bool Mailbox::arrived(Rank from, const MessageKey& key, const std::function<bool(const Message&)>& is) {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find({from, key});
    return found != messages_.end() && is(found->second);
}

void Mailbox::put(Mail mail) {
    {
        const std::lock_guard lock(mutex_);
        if (aborted_) return;
        mail_.push_back(std::move(mail));
    }
    arrived_.notify_one();
}

std::optional<Mail> Mailbox::takeMail(bool waits) {
    std::unique_lock lock(mutex_);
    if (waits) arrived_.wait(lock, [&] { return aborted_ || !mail_.empty(); });
    if (aborted_ || mail_.empty()) return std::nullopt;
    Mail mail = std::move(mail_.front());
    mail_.pop_front();
    return mail;
}

void Mailbox::abort() {
    {
        const std::lock_guard lock(mutex_);
        aborted_ = true;
    }
    arrived_.notify_all();
}

} // namespace bubblescope::runtime
