#pragma once

#include "runtime/clock/host_clock.h"
#include "runtime/comm/message.h"
#include "runtime/comm/transport.h"
#include "runtime/comm/watchdog.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// Messages to one rank that it has not taken yet. Thread-safe: any thread may put messages; only the rank's thread
/// takes them.
class Mailbox {
public:
    /// Never waits. After abort() the message is discarded.
    void put(Rank from, const MessageKey& key, Message message);

    /// Waits for the message; returns nothing if the run was aborted.
    [[nodiscard]] std::optional<Taken> take(Rank from, const MessageKey& key);

    /// The time at which the message was sent, if it has arrived.
    [[nodiscard]] std::optional<TimeNs> peek(Rank from, const MessageKey& key);
    /// True if the message has arrived and satisfies `is`.
    [[nodiscard]] bool arrived(Rank from, const MessageKey& key, const std::function<bool(const Message&)>& is);

    // Mail and messages have separate queues.
    void put(Mail mail);
    /// The oldest mail. If there is no mail and `waits` is set, waits until mail arrives or the run is aborted.
    [[nodiscard]] std::optional<Mail> takeMail(bool waits);

    /// Wakes the waiting rank. Later calls return nothing.
    void abort();

private:
    using Label = std::pair<Rank, MessageKey>;

    std::mutex mutex_;
    std::condition_variable arrived_;
    std::map<Label, Message> messages_;
    std::deque<Mail> mail_;
    bool aborted_ = false;
};

/// A reusable barrier for all ranks: each passes the time on its device clock and receives the latest time of all
/// ranks. Thread-safe.
class StepBarrier {
public:
    explicit StepBarrier(int ranks) : ranks_(ranks) {}

    /// Waits for all ranks; returns nothing if the run was aborted.
    [[nodiscard]] std::optional<TimeNs> arriveAndWait(TimeNs time);

    /// Wakes the waiting ranks. Later calls do not wait.
    void abort();

private:
    std::mutex mutex_;
    std::condition_variable complete_;
    int ranks_;
    int arrived_ = 0;
    std::uint64_t round_ = 0;
    TimeNs latest_{TimeNs::min()}; ///< latest time of the ranks that have arrived in this round
    TimeNs result_{0};             ///< result of the previous round
    bool aborted_ = false;
};

/// The transport between threads of one process: a mailbox for each rank and a barrier for all ranks. Tensors are
/// moved, not copied.
class InProcessTransports {
public:
    /// If a timeout is given, a thread checks periodically for ranks that hang. `clock` must outlive the transport.
    /// `cores` is the number of cores that the ranks share; 0 = all cores that this process may use.
    InProcessTransports(int ranks, HostClock& clock, std::optional<TimeNs> timeout, int cores = 0);
    InProcessTransports(const InProcessTransports&) = delete;
    InProcessTransports& operator=(const InProcessTransports&) = delete;
    ~InProcessTransports();

    /// The ranks' transports, owned by this object.
    [[nodiscard]] std::vector<Transport*> ends();

private:
    class End;

    void fail(Error error);
    void watch();

    HostClock& clock_;
    int cores_;
    std::atomic<int> busy_{0};      ///< number of busy ranks; see Activity
    std::deque<Mailbox> mailboxes_; ///< by rank
    StepBarrier barrier_;
    RunEnd end_;
    std::optional<Watchdog> watchdog_;
    std::vector<std::unique_ptr<Transport>> ends_;

    std::mutex watch_mutex_;
    std::condition_variable watch_wake_;
    bool watch_stops_ = false;
    std::thread watcher_; ///< last, because it uses the members above
};

} // namespace bubblescope::runtime
