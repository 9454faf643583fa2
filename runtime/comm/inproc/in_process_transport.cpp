#include "runtime/comm/inproc/in_process_transport.h"

#include <algorithm>
#include <chrono>
#include <utility>

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

std::optional<TimeNs> StepBarrier::arriveAndWait(TimeNs time) {
    std::unique_lock lock(mutex_);
    if (aborted_) return std::nullopt;
    latest_ = std::max(latest_, time);
    if (++arrived_ == ranks_) {
        result_ = latest_;
        latest_ = TimeNs::min();
        arrived_ = 0;
        ++round_;
        complete_.notify_all();
        return result_;
    }
    // The next round cannot end before this rank has joined it, so result_ still belongs to this round.
    complete_.wait(lock, [&, round = round_] { return aborted_ || round_ != round; });
    if (aborted_) return std::nullopt;
    return result_;
}

void StepBarrier::abort() {
    {
        const std::lock_guard lock(mutex_);
        aborted_ = true;
    }
    complete_.notify_all();
}

class InProcessTransports::End final : public Transport {
public:
    End(InProcessTransports& transports, Rank rank) : transports_(transports), rank_(rank) {}

    [[nodiscard]] Rank rank() const override { return rank_; }
    void expect(std::span<const Expected>) override {} // a mailbox accepts any message
    void send(Rank to, const MessageKey& key, Message message) override {
        transports_.mailboxes_[to.index()].put(rank_, key, std::move(message));
    }
    [[nodiscard]] std::optional<Taken> receive(Rank from, const MessageKey& key) override {
        return transports_.mailboxes_[rank_.index()].take(from, key);
    }
    [[nodiscard]] bool arrived(Rank from, const MessageKey& key,
                               const std::function<bool(const Message&)>& is) override {
        return transports_.mailboxes_[rank_.index()].arrived(from, key, is);
    }
    [[nodiscard]] std::optional<TimeNs> peek(Rank from, const MessageKey& key) override {
        return transports_.mailboxes_[rank_.index()].peek(from, key);
    }
    [[nodiscard]] bool carriesMail() const override { return true; }
    void post(Mail mail) override {
        Mailbox& to = transports_.mailboxes_[mail.peer.index()];
        mail.peer = rank_;
        to.put(std::move(mail));
    }
    [[nodiscard]] std::optional<Mail> takeMail() override {
        return transports_.mailboxes_[rank_.index()].takeMail(false);
    }
    [[nodiscard]] std::optional<Mail> awaitMail() override {
        return transports_.mailboxes_[rank_.index()].takeMail(true);
    }
    [[nodiscard]] std::optional<TimeNs> barrier(TimeNs time) override {
        return transports_.barrier_.arriveAndWait(time);
    }
    void report(const Activity& activity) override {
        if (const bool busy = activity.busy(); busy != std::exchange(busy_, busy))
            transports_.busy_.fetch_add(busy ? 1 : -1, std::memory_order_relaxed);
        if (transports_.watchdog_) transports_.watchdog_->report(rank_, activity);
    }
    [[nodiscard]] std::optional<HostLoad> hostLoad() const override {
        const int busy = transports_.busy_.load(std::memory_order_relaxed);
        return HostLoad{static_cast<int>(transports_.mailboxes_.size()), busy - (busy_ ? 1 : 0), transports_.cores_};
    }
    void fail(Error error) override { transports_.fail(std::move(error)); }
    [[nodiscard]] const std::atomic<bool>& ended() const override { return transports_.end_.ended(); }
    [[nodiscard]] std::optional<Error> error() const override { return transports_.end_.error(); }

private:
    InProcessTransports& transports_;
    Rank rank_;
    bool busy_ = false; ///< as of the last report
};

InProcessTransports::InProcessTransports(int ranks, HostClock& clock, std::optional<TimeNs> timeout, int cores)
    : clock_(clock), cores_(cores > 0 ? cores : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
      mailboxes_(static_cast<std::size_t>(ranks)), barrier_(ranks) {
    for (int r = 0; r < ranks; ++r)
        ends_.push_back(std::make_unique<End>(*this, Rank{r}));
    if (!timeout) return;
    watchdog_.emplace(ranks, *timeout);
    for (int r = 0; r < ranks; ++r)
        watchdog_->report(Rank{r}, {.op = {}, .peer = {}, .since = clock.now()});
    watcher_ = std::thread([this] { watch(); });
}

InProcessTransports::~InProcessTransports() {
    {
        const std::lock_guard lock(watch_mutex_);
        watch_stops_ = true;
    }
    watch_wake_.notify_all();
    if (watcher_.joinable()) watcher_.join();
}

std::vector<Transport*> InProcessTransports::ends() {
    std::vector<Transport*> ends;
    for (const auto& end : ends_)
        ends.push_back(end.get());
    return ends;
}

void InProcessTransports::fail(Error error) {
    if (!end_.set(std::move(error))) return;
    for (Mailbox& mailbox : mailboxes_)
        mailbox.abort();
    barrier_.abort();
}

void InProcessTransports::watch() {
    constexpr std::chrono::nanoseconds kOften = std::chrono::milliseconds(250);
    constexpr int kLooksPerTimeout = 8;
    const auto interval = std::min(kOften, watchdog_->timeout() / kLooksPerTimeout);
    std::unique_lock lock(watch_mutex_);
    while (!watch_wake_.wait_for(lock, interval, [this] { return watch_stops_; })) {
        if (auto error = watchdog_->verdict(clock_.now())) fail(std::move(*error));
    }
}

} // namespace bubblescope::runtime
