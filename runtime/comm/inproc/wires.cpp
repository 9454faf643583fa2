#include "runtime/comm/inproc/wires.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace bubblescope::runtime {

class InProcessWires::End final : public Transport {
public:
    End(InProcessWires& wires, Rank rank) : wires_(wires), rank_(rank) {}

    [[nodiscard]] Rank rank() const override { return rank_; }
    void expect(std::span<const Expected>) override {} // a mailbox takes whatever comes
    void send(Rank to, const MessageKey& key, Message message) override {
        wires_.mailboxes_[to.index()].put(rank_, key, std::move(message));
    }
    [[nodiscard]] std::optional<Taken> receive(Rank from, const MessageKey& key) override {
        return wires_.mailboxes_[rank_.index()].take(from, key);
    }
    [[nodiscard]] bool arrived(Rank from, const MessageKey& key,
                               const std::function<bool(const Message&)>& is) override {
        return wires_.mailboxes_[rank_.index()].arrived(from, key, is);
    }
    [[nodiscard]] std::optional<TimeNs> peek(Rank from, const MessageKey& key) override {
        return wires_.mailboxes_[rank_.index()].peek(from, key);
    }
    [[nodiscard]] bool carriesMail() const override { return true; }
    void post(Mail mail) override {
        Mailbox& to = wires_.mailboxes_[mail.peer.index()];
        mail.peer = rank_;
        to.put(std::move(mail));
    }
    [[nodiscard]] std::optional<Mail> takeMail() override { return wires_.mailboxes_[rank_.index()].takeMail(false); }
    [[nodiscard]] std::optional<Mail> awaitMail() override { return wires_.mailboxes_[rank_.index()].takeMail(true); }
    [[nodiscard]] std::optional<TimeNs> meet(TimeNs time) override { return wires_.barrier_.meet(time); }
    void report(const Activity& activity) override {
        if (wires_.watchdog_) wires_.watchdog_->report(rank_, activity);
    }
    void fail(Error error) override { wires_.fail(std::move(error)); }
    [[nodiscard]] const std::atomic<bool>& ended() const override { return wires_.end_.ended(); }
    [[nodiscard]] std::optional<Error> error() const override { return wires_.end_.error(); }

private:
    InProcessWires& wires_;
    Rank rank_;
};

InProcessWires::InProcessWires(int ranks, HostClock& clock, std::optional<TimeNs> timeout)
    : clock_(clock), mailboxes_(static_cast<std::size_t>(ranks)), barrier_(ranks) {
    for (int r = 0; r < ranks; ++r)
        ends_.push_back(std::make_unique<End>(*this, Rank{r}));
    if (!timeout) return;
    watchdog_.emplace(ranks, *timeout);
    for (int r = 0; r < ranks; ++r)
        watchdog_->report(Rank{r}, {.op = {}, .peer = {}, .since = clock.now()});
    watcher_ = std::thread([this] { watch(); });
}

InProcessWires::~InProcessWires() {
    {
        const std::lock_guard lock(watch_mutex_);
        watch_stops_ = true;
    }
    watch_wake_.notify_all();
    if (watcher_.joinable()) watcher_.join();
}

std::vector<Transport*> InProcessWires::ends() {
    std::vector<Transport*> ends;
    for (const auto& end : ends_)
        ends.push_back(end.get());
    return ends;
}

void InProcessWires::fail(Error error) {
    if (!end_.set(std::move(error))) return;
    for (Mailbox& mailbox : mailboxes_)
        mailbox.abort();
    barrier_.abort();
}

void InProcessWires::watch() {
    constexpr std::chrono::nanoseconds kOften = std::chrono::milliseconds(250);
    constexpr int kLooksPerTimeout = 8;
    const auto interval = std::min(kOften, watchdog_->timeout() / kLooksPerTimeout);
    std::unique_lock lock(watch_mutex_);
    while (!watch_wake_.wait_for(lock, interval, [this] { return watch_stops_; })) {
        if (auto error = watchdog_->verdict(clock_.now())) fail(std::move(*error));
    }
}

} // namespace bubblescope::runtime
