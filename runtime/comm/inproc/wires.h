#pragma once

#include "runtime/backend/host_clock.h"
#include "runtime/comm/inproc/mailbox.h"
#include "runtime/comm/inproc/step_barrier.h"
#include "runtime/comm/run_end.h"
#include "runtime/comm/transport.h"
#include "runtime/comm/watchdog.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace bubblescope::runtime {

/// The wires between threads of one process: a mailbox for each rank and a barrier for all. Tensors change hands
/// without a copy.
class InProcessWires {
public:
    /// With a timeout a thread looks now and then whether a rank hangs, by `clock`, which must outlive the wires.
    InProcessWires(int ranks, HostClock& clock, std::optional<TimeNs> timeout);
    InProcessWires(const InProcessWires&) = delete;
    InProcessWires& operator=(const InProcessWires&) = delete;
    ~InProcessWires();

    /// By rank; they live as long as the wires.
    [[nodiscard]] std::vector<Transport*> ends();

private:
    class End;

    void fail(Error error);
    void watch();

    HostClock& clock_;
    std::deque<Mailbox> mailboxes_; ///< by rank
    StepBarrier barrier_;
    RunEnd end_;
    std::optional<Watchdog> watchdog_;
    std::vector<std::unique_ptr<Transport>> ends_;

    std::mutex watch_mutex_;
    std::condition_variable watch_wake_;
    bool watch_stops_ = false;
    std::thread watcher_; ///< last: it uses what stands above
};

} // namespace bubblescope::runtime
