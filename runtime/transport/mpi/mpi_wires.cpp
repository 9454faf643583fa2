#include "runtime/transport/mpi/mpi_wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <system_error>
#include <utility>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;

constexpr Rank kRoot{0};

/// One for all processes of a machine between two of its starts, which is as far as CLOCK_MONOTONIC goes.
std::string systemsClock() {
    std::string name;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
    if (!name.empty()) return name;
    char host[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(host, &length);
    return {host, static_cast<std::size_t>(length)};
}

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

std::int64_t tagBound(MPI_Comm comm) {
    void* value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &found);
    constexpr std::int64_t kLeast = 32767;
    return found != 0 ? *static_cast<int*>(value) : kLeast;
}

MPI_Comm duplicate(MPI_Comm of) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(of, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

} // namespace

Result<std::unique_ptr<MpiWires>> MpiWires::open(MPI_Comm of, MpiWiresConfig config) {
    int threads = MPI_THREAD_SINGLE;
    MPI_Query_thread(&threads);
    if (threads < MPI_THREAD_SERIALIZED) {
        return runError("this MPI library lets only one thread of a process communicate",
                        "use one that was built with MPI_THREAD_MULTIPLE");
    }
    if (const std::int64_t most = tagBound(of); config.tags.end() > most) {
        return runError(fmt::format("the schedule has {} different messages, this MPI library tells {} apart",
                                    config.tags.end(), most));
    }
    try {
        return std::unique_ptr<MpiWires>(new MpiWires(of, std::move(config)));
    } catch (const std::system_error& e) {
        return runError(fmt::format("the thread that carries messages cannot be started: {}", e.what()));
    }
}

MpiWires::MpiWires(MPI_Comm of, MpiWiresConfig config)
    : config_(std::move(config)), data_comm_(duplicate(of)), control_comm_(duplicate(of)), size_([of] {
          int size = 1;
          MPI_Comm_size(of, &size);
          return size;
      }()),
      watchdog_(size_, config_.timeout) {
    int rank = 0;
    MPI_Comm_rank(of, &rank);
    rank_ = Rank{rank};
    data_.emplace(data_comm_, config_.tags);
    control_.emplace(control_comm_);
    startClocks();
    const TimeNs now = config_.clock.now();
    activity_.since = activity_.due = now;
    for (int r = 0; r < size_; ++r) {
        watchdog_.report(Rank{r}, activity_);
        watchdog_.hear(Rank{r}, now);
    }
    worker_ = std::thread([this] { work(); });
    if (own_clock_) exchangePings();
}

MpiWires::~MpiWires() {
    {
        const std::lock_guard lock(mutex_);
        stops_ = true;
    }
    wake_.notify_all();
    if (worker_.joinable()) worker_.join();
    data_.reset();
    control_.reset();
    if (!left_in_order_) return; // to free a communicator takes all its processes
    MPI_Comm_free(&data_comm_);
    MPI_Comm_free(&control_comm_);
}

void MpiWires::startClocks() {
    if (config_.clock_name.empty()) config_.clock_name = systemsClock();
    std::array<char, 64> own{};
    copyText(config_.clock_name, own);
    std::array<char, 64> root = own;
    MPI_Bcast(root.data(), static_cast<int>(root.size()), MPI_CHAR, kRoot.value, control_comm_);
    own_clock_ = own != root;
}

void MpiWires::exchangePings() {
    constexpr int kPings = 20;
    const std::size_t first = pings_.size();
    for (int i = 0; i < kPings; ++i) {
        ControlMessage ping;
        ping.kind = ControlMessage::Kind::Ping;
        {
            const std::lock_guard lock(mutex_);
            pong_.reset();
            ping.times[0] = config_.clock.now().count();
            control_->send(kRoot, ping);
        }
        if (!waitFor([this] { return pong_.has_value(); })) return;
        const std::lock_guard lock(mutex_);
        const auto& times = pong_->message.times;
        pings_.push_back({rank_.value, kRoot.value, TimeNs{times[0]}, TimeNs{times[1]}, TimeNs{times[2]}, pong_->came});
    }
    // The quickest exchange leaves the least room for its two ways to differ.
    const auto best = std::min_element(
        pings_.begin() + static_cast<std::ptrdiff_t>(first), pings_.end(),
        [](const Ping& a, const Ping& b) { return (a.t3 - a.t0) - (a.t2 - a.t1) < (b.t3 - b.t0) - (b.t2 - b.t1); });
    const std::lock_guard lock(mutex_);
    if (first == 0) ahead_ = ((best->t0 - best->t1) + (best->t3 - best->t2)) / 2;
}

template <class Look>
bool MpiWires::waitFor(const Look& look) {
    // Rather asleep than spinning: there may be more processes than cores.
    constexpr auto kNap = 50us;
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            progress();
            if (look()) return true;
        }
        if (end_.ended()) return false;
        std::this_thread::sleep_for(kNap);
    }
}

void MpiWires::expect(std::span<const Expected> messages) {
    const std::lock_guard lock(mutex_);
    data_->expect(messages);
}

void MpiWires::send(Rank to, const MessageKey& key, Message message) {
    const std::lock_guard lock(mutex_);
    if (to == rank_) {
        to_self_.insert_or_assign(key, std::move(message));
        return;
    }
    message.sent = toRoot(message.sent);
    data_->send(to, key, message);
}

std::optional<Taken> MpiWires::receive(Rank from, const MessageKey& key) {
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
        taken.message = std::move(*message);
        taken.message.sent = fromRoot(taken.message.sent);
        return true;
    };
    if (!waitFor(look) || end_.ended()) return std::nullopt;
    return taken;
}

std::optional<TimeNs> MpiWires::meet(TimeNs time) {
    std::int64_t round = 0;
    {
        const std::lock_guard lock(mutex_);
        round = round_++;
        ControlMessage message;
        message.kind = ControlMessage::Kind::Meet;
        message.round = round;
        message.times[0] = toRoot(time).count();
        if (rank_ == kRoot) {
            handleMeeting(message);
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

void MpiWires::report(const Activity& activity) {
    watchdog_.report(rank_, activity);
    const std::lock_guard lock(mutex_);
    activity_ = activity;
}

void MpiWires::fail(Error error) {
    const std::lock_guard lock(mutex_);
    endWith(std::move(error), true);
}

bool MpiWires::leave() {
    constexpr auto kPatience = 3s;
    constexpr auto kNap = 1ms;
    const bool fine = !end_.ended();
    if (fine && own_clock_) exchangePings();
    // After a good run all have met, so that nobody's tensors are under way when the first one leaves.
    if (fine && meet(TimeNs{0})) {
        left_in_order_ = true;
        return true;
    }
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

void MpiWires::work() {
    constexpr auto kOften = 200us; // how long a tensor may lie until its transfer goes on
    constexpr auto kSeldom = 2ms;
    std::unique_lock lock(mutex_);
    while (!stops_) {
        progress();
        wake_.wait_for(lock, data_->busy() ? kOften : kSeldom);
    }
}

void MpiWires::progress() {
    if (!end_.ended()) {
        try {
            data_->progress();
        } catch (const std::exception& e) {
            endWith(runError(fmt::format("rank {}: {}", rank_.value, e.what())), true);
        }
    }
    while (const auto received = control_->receive())
        handle(*received);
    constexpr int kSignsPerTimeout = 5;
    const TimeNs now = config_.clock.now();
    watchdog_.hear(rank_, now);
    if (now - told_ < std::min<TimeNs>(config_.timeout / kSignsPerTimeout, 500ms)) return;
    tellAlive(now);
    if (end_.ended()) return;
    if (auto error = watchdog_.verdict(now)) endWith(std::move(*error), true);
}

void MpiWires::handle(const ControlChannel::Received& received) {
    const ControlMessage& message = received.message;
    const TimeNs now = config_.clock.now();
    watchdog_.hear(received.from, now);
    switch (message.kind) {
    case ControlMessage::Kind::Alive: {
        Activity activity = message.activity;
        activity.since = now - activity.since;
        activity.due = now - activity.due;
        watchdog_.report(received.from, activity);
        break;
    }
    case ControlMessage::Kind::Meet: handleMeeting(message); break;
    case ControlMessage::Kind::Met: met_[message.round] = TimeNs{message.times[0]}; break;
    case ControlMessage::Kind::Ping: handlePing(received.from, message); break;
    case ControlMessage::Kind::Pong: pong_ = Pong{message, now}; break;
    case ControlMessage::Kind::Bye: ++byes_; [[fallthrough]]; // from one who may have heard earlier why the run ends
    case ControlMessage::Kind::Ended: {
        Error error = runError(message.message.data(), message.hint.data());
        error.kind = message.error_kind;
        endWith(std::move(error), false);
        break;
    }
    }
}

void MpiWires::handlePing(Rank from, const ControlMessage& message) {
    ControlMessage pong;
    pong.kind = ControlMessage::Kind::Pong;
    pong.times = {message.times[0], config_.clock.now().count(), 0};
    pong.times[2] = config_.clock.now().count();
    control_->send(from, pong);
}

void MpiWires::handleMeeting(const ControlMessage& message) {
    latest_ = std::max(latest_, TimeNs{message.times[0]});
    if (++arrived_ < size_) return;
    ControlMessage met;
    met.kind = ControlMessage::Kind::Met;
    met.round = message.round;
    met.times[0] = latest_.count();
    met_[met.round] = latest_;
    arrived_ = 0;
    latest_ = TimeNs::min();
    tellAll(met);
}

void MpiWires::tellAlive(TimeNs now) {
    told_ = now;
    ControlMessage alive;
    alive.activity = activity_;
    alive.activity.since = now - activity_.since;
    alive.activity.due = now - activity_.due; // negative while the op is within its time
    tellAll(alive);
}

void MpiWires::tellAll(const ControlMessage& message) {
    for (int r = 0; r < size_; ++r) {
        if (Rank{r} != rank_) control_->send(Rank{r}, message);
    }
}

void MpiWires::endWith(Error error, bool tell) {
    const ControlMessage message = messageOf(error);
    if (end_.set(std::move(error)) && tell) tellAll(message);
}

} // namespace bubblescope::runtime
