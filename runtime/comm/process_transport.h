#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/activity_board.h"
#include "runtime/comm/channels.h"
#include "runtime/comm/transport.h"
#include "runtime/comm/watchdog.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace bubblescope::runtime {

struct ProcessTransportConfig {
    Rank rank;
    int size = 1;
    HostClock& clock;
    TimeNs timeout{0}; ///< see Watchdog; several heartbeats are sent within this time
    /// True if this process's clock differs from the root's clock.
    bool own_clock = false;
    std::unique_ptr<DataChannel> data;
    std::unique_ptr<ControlChannel> control;
    TimeNs ping_interval{60'000'000'000};   ///< interval between ping exchanges while the ranks work
    std::shared_ptr<ActivityBoard> board{}; ///< shared by the job's processes; null = processes exchange their
                                            ///< activities only in messages
};

/// One process's end of the transport between the processes of a job, each of which is one rank. Tensors are sent over
/// one channel, everything else over another.
///
/// A thread advances messages while the rank computes, exchanges activities with the other processes, and polls the
/// watchdog. All channel calls are made under one lock and return immediately. The board always contains the current
/// activity of ranks on the same machine; for other ranks, only the last activity that they sent is known.
///
/// Times are sent on the root's clock: if a rank uses another clock, a ping exchange at the start measures the
/// difference. Clocks drift, so further exchanges, one every minute and one at the end, are recorded for readers of the
/// trace. The thread performs these exchanges during the run, and no rank waits for them.
class ProcessTransport final : public Transport {
public:
    /// Collective: all processes must call this. Error: Run if no thread can be created.
    [[nodiscard]] static Result<std::unique_ptr<ProcessTransport>> open(ProcessTransportConfig config);
    ~ProcessTransport() override;

    [[nodiscard]] Rank rank() const override { return rank_; }
    void expect(std::span<const Expected> messages) override;
    void send(Rank to, const MessageKey& key, Message message) override;
    [[nodiscard]] std::optional<Taken> receive(Rank from, const MessageKey& key) override;
    [[nodiscard]] std::optional<TimeNs> peek(Rank from, const MessageKey& key) override;
    [[nodiscard]] bool carriesMail() const override;
    void post(Mail mail) override;
    [[nodiscard]] std::optional<Mail> takeMail() override;
    [[nodiscard]] std::optional<Mail> awaitMail() override;
    [[nodiscard]] std::optional<TimeNs> barrier(TimeNs time) override;
    void report(const Activity& activity) override;
    [[nodiscard]] std::optional<HostLoad> hostLoad() const override;
    void fail(Error error) override;
    [[nodiscard]] const std::atomic<bool>& ended() const override { return end_.ended(); }
    [[nodiscard]] std::optional<Error> error() const override { return end_.error(); }

    /// Call this after the last step or after a failure. Waits for the other processes to do the same. Returns false if
    /// a process has not done so within a few seconds; it is then assumed dead, and waiting would never end.
    [[nodiscard]] bool leave();

    /// Ping exchanges with the root at the start and at the end, if the root uses another clock. This rank asks and the
    /// root replies; each measures times on its own clock.
    [[nodiscard]] const std::vector<Ping>& pings() const { return pings_; }

    /// Sets a function to be called for each exchange during the run. `tell` is called on the transport's thread
    /// without holding a lock of the transport, and never after leave() has been called.
    using OnPings = std::function<void(std::span<const Ping>)>;
    void onPings(OnPings tell);

private:
    explicit ProcessTransport(ProcessTransportConfig config);

    struct Pong {
        ControlMessage message;
        TimeNs came{0};
    };

    void exchangePings();
    void sendPing();
    /// Adds the reply to the pending exchange.
    void takePong(const ControlMessage& message, TimeNs came);
    void pingIfDue(TimeNs now);
    /// Releases the lock while reporting an exchange.
    void reportPings(std::unique_lock<std::mutex>& lock);
    void work();
    void progress();
    void handle(const ControlChannel::Received& received);
    void handlePing(Rank from, const ControlMessage& message);
    void handleArrival(const ControlMessage& message);
    void tellAlive(TimeNs now);
    /// Passes the activities on the board to the watchdog.
    void readBoard();
    void tellAll(const ControlMessage& message);
    void endWith(Error error, bool tell);
    /// The next mail, with times on this rank's clock. The caller must hold the lock.
    [[nodiscard]] std::optional<Mail> nextMail();
    /// Calls `look` under the lock until it returns true or the run has ended, and advances transfers between calls.
    template <class Look>
    bool waitFor(const Look& look);
    [[nodiscard]] TimeNs toRoot(TimeNs own) const { return own - ahead_; }
    [[nodiscard]] TimeNs fromRoot(TimeNs root) const { return root + ahead_; }

    HostClock& clock_;
    Rank rank_;
    int size_;
    TimeNs timeout_;
    bool own_clock_;
    TimeNs ahead_{0}; ///< this rank's clock minus the root's clock
    std::vector<Ping> pings_;
    RunEnd end_;
    Watchdog watchdog_;
    std::shared_ptr<ActivityBoard> board_; ///< may be null

    mutable std::mutex mutex_; ///< guards the members below and every call to a channel
    std::unique_ptr<DataChannel> data_;
    std::unique_ptr<ControlChannel> control_;
    std::map<MessageKey, Message> to_self_;
    Activity activity_;
    TimeNs told_{0};
    std::int64_t round_ = 0;             ///< number of the barrier
    int arrived_ = 0;                    ///< on the root: number of ranks that have arrived in this round
    TimeNs latest_{TimeNs::min()};       ///< on the root: latest time of the ranks that have arrived
    std::map<std::int64_t, TimeNs> met_; ///< results by round
    std::optional<Pong> pong_;
    TimeNs ping_interval_;
    TimeNs pings_due_{0};
    bool exchanging_ = false;     ///< true if an exchange during the run is pending
    std::vector<Ping> exchanged_; ///< pings of the pending exchange, or of the last exchange until it is reported
    OnPings tell_pings_;
    std::mutex reporting_; ///< held during the callback; taken after mutex_, which is released
    int byes_ = 0;
    bool leaving_ = false;  ///< true after a successful run
    bool all_left_ = false; ///< on the root: true if all processes are ready to leave; later messages are for the next
                            ///< run

    std::condition_variable wake_;
    bool stops_ = false;
    std::thread worker_;
};

/// Decides whether all processes can continue. Each process passes its status before the processes wait for each other
/// in a run. Returns this process's error if it has one, otherwise the error of the first process that cannot continue,
/// otherwise success.
[[nodiscard]] Status agree(Status own, ProcessTeam& team);

} // namespace bubblescope::runtime
