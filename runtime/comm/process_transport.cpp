#include "runtime/comm/process_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;

constexpr Rank kRoot{0};
constexpr std::size_t kPings = 20; ///< number of pings in an exchange

template <std::size_t Size>
void copyText(const std::string& text, std::array<char, Size>& into) {
    into[text.copy(into.data(), Size - 1)] = '\0';
}

ControlMessage messageOf(const Error& error) {
    ControlMessage message;
    message.kind = ControlMessage::Kind::Ended;
    message.error_kind = error.kind;
    copyText(error.message, message.message);
    copyText(error.hint, message.hint);
    return message;
}

} // namespace

Result<std::unique_ptr<ProcessTransport>> ProcessTransport::open(ProcessTransportConfig config) {
    try {
        return std::unique_ptr<ProcessTransport>(new ProcessTransport(std::move(config)));
    } catch (const std::system_error& e) {
        return runError(fmt::format("cannot start the message thread: {}", e.what()));
    }
}

ProcessTransport::ProcessTransport(ProcessTransportConfig config)
    : clock_(config.clock), rank_(config.rank), size_(config.size), timeout_(config.timeout),
      own_clock_(config.own_clock), watchdog_(size_, timeout_), board_(std::move(config.board)),
      data_(std::move(config.data)), control_(std::move(config.control)), ping_interval_(config.ping_interval) {
    const TimeNs now = clock_.now();
    activity_.since = activity_.due = now;
    for (int r = 0; r < size_; ++r) {
        watchdog_.report(Rank{r}, activity_);
        watchdog_.heardFrom(Rank{r}, now);
    }
    if (board_) board_->write(activity_);
    worker_ = std::thread([this] { work(); });
    if (own_clock_) exchangePings();
}

ProcessTransport::~ProcessTransport() {
    {
        const std::lock_guard lock(mutex_);
        stops_ = true;
    }
    wake_.notify_all();
    if (worker_.joinable()) worker_.join();
    if (end_.ended()) data_->abort(); // the worker may not have had time to do so
}

void ProcessTransport::exchangePings() {
    const std::size_t first = pings_.size();
    for (std::size_t i = 0; i < kPings; ++i) {
        {
            const std::lock_guard lock(mutex_);
            pong_.reset();
            sendPing();
        }
        if (!waitFor([this] { return pong_.has_value(); })) return;
        const std::lock_guard lock(mutex_);
        const auto& times = pong_->message.times;
        pings_.push_back({rank_.value, kRoot.value, TimeNs{times[0]}, TimeNs{times[1]}, TimeNs{times[2]}, pong_->came});
    }
    // The fastest exchange has the smallest possible asymmetry between its two directions.
    const auto best = std::min_element(
        pings_.begin() + static_cast<std::ptrdiff_t>(first), pings_.end(),
        [](const Ping& a, const Ping& b) { return (a.t3 - a.t0) - (a.t2 - a.t1) < (b.t3 - b.t0) - (b.t2 - b.t1); });
    const std::lock_guard lock(mutex_);
    if (first == 0) ahead_ = ((best->t0 - best->t1) + (best->t3 - best->t2)) / 2;
}

void ProcessTransport::onPings(OnPings tell) {
    const std::lock_guard lock(mutex_);
    tell_pings_ = std::move(tell);
    pings_due_ = clock_.now() + ping_interval_;
}

void ProcessTransport::sendPing() {
    ControlMessage ping;
    ping.kind = ControlMessage::Kind::Ping;
    ping.times[0] = clock_.now().count();
    control_->send(kRoot, ping);
}

void ProcessTransport::takePong(const ControlMessage& message, TimeNs came) {
    if (!exchanging_) {
        pong_ = Pong{message, came};
        return;
    }
    const auto& times = message.times;
    exchanged_.push_back({rank_.value, kRoot.value, TimeNs{times[0]}, TimeNs{times[1]}, TimeNs{times[2]}, came});
    exchanging_ = exchanged_.size() < kPings;
    if (exchanging_) sendPing();
}

void ProcessTransport::pingIfDue(TimeNs now) {
    if (!tell_pings_ || !own_clock_ || end_.ended() || now < pings_due_) return;
    pings_due_ = now + ping_interval_;
    if (!exchanging_ && !exchanged_.empty()) return; // the last exchange has not been reported yet
    exchanged_.clear();
    exchanging_ = true;
    sendPing();
}

void ProcessTransport::reportPings(std::unique_lock<std::mutex>& lock) {
    if (exchanging_ || exchanged_.empty() || !tell_pings_) return;
    const std::vector<Ping> pings = std::exchange(exchanged_, {});
    const OnPings tell = tell_pings_;
    {
        const std::lock_guard telling(reporting_);
        lock.unlock();
        tell(pings);
    }
    lock.lock();
}

template <class Look>
bool ProcessTransport::waitFor(const Look& look) {
    // Sleeps instead of spinning, because there may be more processes than cores. The sleep is a fraction of the time
    // waited so far, so it does not lengthen a wait by much, and during a long wait the core is free for others.
    constexpr std::chrono::nanoseconds kShortest = 20us;
    constexpr std::chrono::nanoseconds kLongest = 500us;
    constexpr int kShare = 8;
    const auto began = std::chrono::steady_clock::now();
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            progress();
            if (look()) return true;
        }
        if (end_.ended()) return false;
        const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - began;
        std::this_thread::sleep_for(std::clamp(waited / kShare, kShortest, kLongest));
    }
}

void ProcessTransport::expect(std::span<const Expected> messages) {
    const std::lock_guard lock(mutex_);
    data_->expect(messages);
}

void ProcessTransport::send(Rank to, const MessageKey& key, Message message) {
    const std::lock_guard lock(mutex_);
    if (to == rank_) {
        to_self_.insert_or_assign(key, std::move(message));
        return;
    }
    message.sent = toRoot(message.sent);
    data_->send(to, key, std::move(message));
}

std::optional<Taken> ProcessTransport::receive(Rank from, const MessageKey& key) {
    Taken taken;
    const auto look = [&] {
        if (from == rank_) {
            const auto found = to_self_.find(key);
            if (found == to_self_.end()) return false;
            taken.message = std::move(found->second);
            to_self_.erase(found);
            return true;
        }
        auto message = data_->take(from, key);
        if (!message) {
            taken.waited = true;
            return false;
        }
        taken.message = {std::move(message->tensor), message->sent ? fromRoot(*message->sent) : clock_.now(),
                         message->digests};
        return true;
    };
    if (!waitFor(look) || end_.ended()) return std::nullopt;
    return taken;
}

std::optional<TimeNs> ProcessTransport::peek(Rank from, const MessageKey& key) {
    const std::lock_guard lock(mutex_);
    if (from == rank_) {
        const auto found = to_self_.find(key);
        return found == to_self_.end() ? std::nullopt : std::optional(found->second.sent);
    }
    progress();
    const std::optional<TimeNs> sent = data_->peek(from, key);
    return sent ? std::optional(fromRoot(*sent)) : std::nullopt;
}

bool ProcessTransport::carriesMail() const {
    const std::lock_guard lock(mutex_);
    return data_->carriesMail();
}

void ProcessTransport::post(Mail mail) {
    for (TimeNs& time : mail.times)
        time = toRoot(time);
    const std::lock_guard lock(mutex_);
    if (!end_.ended()) data_->post(std::move(mail));
}

std::optional<Mail> ProcessTransport::nextMail() {
    std::optional<Mail> mail = data_->takeMail();
    if (!mail) return std::nullopt;
    for (TimeNs& time : mail->times)
        time = fromRoot(time);
    return mail;
}

std::optional<Mail> ProcessTransport::takeMail() {
    const std::lock_guard lock(mutex_);
    progress();
    if (end_.ended()) return std::nullopt;
    return nextMail();
}

std::optional<Mail> ProcessTransport::awaitMail() {
    std::optional<Mail> mail;
    const auto look = [&] {
        mail = nextMail();
        return mail.has_value();
    };
    if (!waitFor(look) || end_.ended()) return std::nullopt;
    return mail;
}

std::optional<TimeNs> ProcessTransport::barrier(TimeNs time) {
    std::int64_t round = 0;
    {
        const std::lock_guard lock(mutex_);
        round = round_++;
        ControlMessage message;
        message.kind = ControlMessage::Kind::Arrive;
        message.round = round;
        message.times[0] = toRoot(time).count();
        if (rank_ == kRoot) {
            handleArrival(message);
        } else {
            control_->send(kRoot, message);
        }
    }
    TimeNs latest{0};
    const bool met = waitFor([&] {
        const auto found = met_.find(round);
        if (found == met_.end()) return false;
        latest = fromRoot(found->second);
        met_.erase(found);
        return true;
    });
    if (!met || end_.ended()) return std::nullopt;
    return latest;
}

void ProcessTransport::report(const Activity& activity) {
    if (board_) board_->write(activity);
    watchdog_.report(rank_, activity);
    const std::lock_guard lock(mutex_);
    activity_ = activity;
}

std::optional<HostLoad> ProcessTransport::hostLoad() const {
    if (!board_) return std::nullopt;
    return HostLoad{board_->ranks(), board_->othersBusy(), board_->cores()};
}

void ProcessTransport::fail(Error error) {
    const std::lock_guard lock(mutex_);
    endWith(std::move(error), true);
}

bool ProcessTransport::leave() {
    constexpr auto kPatience = 3s;
    constexpr auto kNap = 1ms;
    const bool fine = !end_.ended();
    {
        const std::lock_guard lock(mutex_);
        tell_pings_ = nullptr;
        exchanging_ = false;
    }
    { const std::lock_guard told(reporting_); } // waits until the last callback has returned
    if (fine && own_clock_) exchangePings();
    {
        const std::lock_guard lock(mutex_);
        leaving_ = fine;
    }
    // After a successful run all ranks meet, so that no tensor is in transit when the first rank leaves.
    if (fine && barrier(TimeNs{0})) return true;
    {
        const std::lock_guard lock(mutex_);
        ControlMessage bye = messageOf(*end_.error());
        bye.kind = ControlMessage::Kind::Bye;
        tellAll(bye);
    }
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
        {
            const std::lock_guard lock(mutex_);
            progress();
            if (byes_ == size_ - 1) return true;
        }
        std::this_thread::sleep_for(kNap);
    }
    return false;
}

void ProcessTransport::work() {
    constexpr auto kOften = 200us; // longest delay before a pending transfer is advanced
    constexpr auto kSeldom = 2ms;
    std::unique_lock lock(mutex_);
    while (!stops_) {
        progress();
        reportPings(lock);
        wake_.wait_for(lock, data_->busy() || exchanging_ ? kOften : kSeldom);
    }
}

void ProcessTransport::progress() {
    if (end_.ended()) {
        data_->abort();
    } else {
        try {
            data_->progress();
        } catch (const std::exception& e) {
            endWith(runError(fmt::format("rank {}: {}", rank_.value, e.what())), true);
        }
    }
    while (!all_left_) {
        const auto received = control_->receive();
        if (!received) break;
        handle(*received);
    }
    constexpr int kSignsPerTimeout = 5;
    const TimeNs now = clock_.now();
    watchdog_.heardFrom(rank_, now);
    pingIfDue(now);
    if (now - told_ < std::min<TimeNs>(timeout_ / kSignsPerTimeout, 500ms)) return;
    tellAlive(now);
    if (end_.ended() || all_left_) return;
    readBoard();
    if (auto error = watchdog_.verdict(now)) endWith(std::move(*error), true);
}

void ProcessTransport::readBoard() {
    for (int r = 0; board_ && r < size_; ++r) {
        const std::optional<Activity> activity = Rank{r} == rank_ ? std::nullopt : board_->read(Rank{r});
        if (activity) watchdog_.report(Rank{r}, *activity, Watchdog::Known::Now);
    }
}

void ProcessTransport::handle(const ControlChannel::Received& received) {
    const ControlMessage& message = received.message;
    const TimeNs now = clock_.now();
    watchdog_.heardFrom(received.from, now);
    switch (message.kind) {
    case ControlMessage::Kind::Alive: {
        Activity activity = message.activity;
        activity.since = now - activity.since;
        activity.due = now - activity.due;
        if (!board_ || !board_->read(received.from)) watchdog_.report(received.from, activity);
        break;
    }
    case ControlMessage::Kind::Arrive: handleArrival(message); break;
    case ControlMessage::Kind::Release: met_[message.round] = TimeNs{message.times[0]}; break;
    case ControlMessage::Kind::Ping: handlePing(received.from, message); break;
    case ControlMessage::Kind::Pong: takePong(message, now); break;
    case ControlMessage::Kind::Bye: ++byes_; [[fallthrough]]; // from a process that may know earlier why the run ends
    case ControlMessage::Kind::Ended: {
        Error error = runError(message.message.data(), message.hint.data());
        error.kind = message.error_kind;
        endWith(std::move(error), false);
        break;
    }
    }
}

void ProcessTransport::handlePing(Rank from, const ControlMessage& message) {
    ControlMessage pong;
    pong.kind = ControlMessage::Kind::Pong;
    pong.times = {message.times[0], clock_.now().count(), 0};
    pong.times[2] = clock_.now().count();
    control_->send(from, pong);
}

void ProcessTransport::handleArrival(const ControlMessage& message) {
    latest_ = std::max(latest_, TimeNs{message.times[0]});
    if (++arrived_ < size_) return;
    ControlMessage met;
    met.kind = ControlMessage::Kind::Release;
    met.round = message.round;
    met.times[0] = latest_.count();
    met_[met.round] = latest_;
    arrived_ = 0;
    latest_ = TimeNs::min();
    all_left_ = leaving_;
    tellAll(met);
}

void ProcessTransport::tellAlive(TimeNs now) {
    told_ = now;
    ControlMessage alive;
    alive.activity = activity_;
    alive.activity.since = now - activity_.since;
    alive.activity.due = now - activity_.due; // negative while the op is within its time
    tellAll(alive);
}

void ProcessTransport::tellAll(const ControlMessage& message) {
    for (int r = 0; r < size_; ++r) {
        if (Rank{r} != rank_) control_->send(Rank{r}, message);
    }
}

void ProcessTransport::endWith(Error error, bool tell) {
    const ControlMessage message = messageOf(error);
    if (end_.set(std::move(error)) && tell) tellAll(message);
}

Status agree(Status own, ProcessTeam& team) {
    const std::vector<std::string> same(static_cast<std::size_t>(team.size()),
                                        own.ok() ? std::string() : own.error().text());
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> all, team.exchange(same));
    if (!own.ok()) return own;
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (!all[r].empty()) return runError(fmt::format("rank {} cannot begin: {}", r, all[r]));
    }
    return {};
}

} // namespace bubblescope::runtime
