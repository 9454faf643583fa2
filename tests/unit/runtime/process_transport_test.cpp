// Transport between processes, here threads with an end each, whose clocks advance only when the test does it.

#include "runtime/comm/process_transport.h"

#include "tests/support/linked_team.h"
#include "tests/unit/runtime/fake_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;

class NoTensors final : public DataChannel {
public:
    void expect(std::span<const Expected>) override {}
    void send(Rank, const MessageKey&, Message) override {}
    void progress() override {}
    [[nodiscard]] std::optional<Arrived> take(Rank, const MessageKey&) override { return std::nullopt; }
    [[nodiscard]] bool busy() const override { return false; }
};

/// Control messages of one of two.
class HubChannel final : public ControlChannel {
public:
    HubChannel(test::ControlHub& hub, Rank self) : hub_(hub), self_(self) {}
    void send(Rank to, const ControlMessage& message) override { hub_.put(self_, to, message); }
    [[nodiscard]] std::optional<Received> receive() override { return hub_.take(self_); }

private:
    test::ControlHub& hub_;
    Rank self_;
};

/// The messages that a rank received.
class Told {
public:
    void add(std::span<const Ping> pings) {
        std::unique_lock lock(mutex_);
        exchanges_.emplace_back(pings.begin(), pings.end());
        changed_.notify_all();
        changed_.wait(lock, [&] { return !held_; });
    }
    /// The sender waits until it is released.
    void hold(bool held) {
        const std::lock_guard lock(mutex_);
        held_ = held;
        changed_.notify_all();
    }
    std::vector<Ping> wait(std::size_t exchange) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return exchanges_.size() > exchange; });
        return exchanges_[exchange];
    }
    std::size_t count() {
        const std::lock_guard lock(mutex_);
        return exchanges_.size();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::vector<Ping>> exchanges_;
    bool held_ = false;
};

class ProcessTransportPings : public ::testing::Test {
protected:
    ProcessTransportPings() {
        other_clock_.advance(kAhead);
        for (int r = 0; r < 2; ++r) {
            ProcessTransportConfig config{Rank{r},
                                          2,
                                          r == 0 ? root_clock_ : other_clock_,
                                          10h,
                                          r == 1,
                                          std::make_unique<NoTensors>(),
                                          std::make_unique<HubChannel>(hub_, Rank{r})};
            ends_.push_back(ProcessTransport::open(std::move(config)).value());
        }
        ends_[1]->onPings([this](std::span<const Ping> pings) { told_.add(pings); });
    }

    void pass(TimeNs time) {
        root_clock_.advance(time);
        other_clock_.advance(time);
    }
    /// Both take part in a meeting, as ranks do between steps. False if one of them did not return from it.
    bool meet() {
        auto root = std::async(std::launch::async, [this] { return ends_[0]->barrier(root_clock_.now()).has_value(); });
        const bool met = ends_[1]->barrier(other_clock_.now()).has_value();
        return root.get() && met;
    }
    void leave() {
        auto root = std::async(std::launch::async, [this] { return ends_[0]->leave(); });
        EXPECT_TRUE(ends_[1]->leave());
        EXPECT_TRUE(root.get());
    }

    static constexpr TimeNs kAhead = 5s; ///< of the root's clock
    test::FakeClock root_clock_;
    test::FakeClock other_clock_;
    test::ControlHub hub_{2};
    Told told_;
    std::vector<std::unique_ptr<ProcessTransport>> ends_;
};

TEST_F(ProcessTransportPings, GoOnEveryMinute) {
    EXPECT_EQ(ends_[1]->pings().size(), 20U) << "at the start";
    for (std::size_t minute = 0; minute < 3; ++minute) {
        pass(59s);
        EXPECT_TRUE(meet()); // the clocks have been looked at
        EXPECT_EQ(told_.count(), minute) << "before the time";
        pass(1s);
        const std::vector<Ping> pings = told_.wait(minute);
        EXPECT_EQ(pings.size(), 20U);
        for (const Ping& ping : pings) {
            EXPECT_EQ(ping.asker, 1);
            EXPECT_EQ(ping.replier, 0);
            EXPECT_EQ(ping.t0 - ping.t1, kAhead) << "time has stood still meanwhile";
            EXPECT_EQ(ping.t3, ping.t0);
            EXPECT_EQ(ping.t0, other_clock_.now());
        }
    }
    EXPECT_EQ(ends_[1]->pings().size(), 20U) << "those are told of, not kept";
    leave();
    EXPECT_EQ(ends_[1]->pings().size(), 40U) << "and at the end";
}

TEST_F(ProcessTransportPings, KeepNobodyWaiting) {
    told_.hold(true);
    pass(60s);
    static_cast<void>(
        told_.wait(0)); // from here on the thread that carries messages is in the function that records them
    for (int step = 0; step < 3; ++step)
        EXPECT_TRUE(meet());
    pass(60s); // the next ones are due, but the sending thread is held
    EXPECT_TRUE(meet());
    told_.hold(false);
    leave();
    const std::size_t told = told_.count();
    pass(10min);
    EXPECT_EQ(told_.count(), told) << "nothing is told behind the end";
}

} // namespace
} // namespace bubblescope::runtime
