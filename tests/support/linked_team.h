#pragma once

#include "runtime/comm/channels.h"
#include "tests/support/thread_team.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace bubblescope::runtime::test {

/// Exchanges control messages between threads that represent processes.
class ControlHub {
public:
    explicit ControlHub(std::size_t members) : inboxes_(members) {}

    void put(Rank from, Rank to, const ControlMessage& message) {
        const std::lock_guard lock(mutex_);
        inboxes_[to.index()].push_back({from, message});
    }
    [[nodiscard]] std::optional<ControlChannel::Received> take(Rank to) {
        const std::lock_guard lock(mutex_);
        if (inboxes_[to.index()].empty()) return std::nullopt;
        const ControlChannel::Received received = inboxes_[to.index()].front();
        inboxes_[to.index()].pop_front();
        return received;
    }

private:
    std::mutex mutex_;
    std::vector<std::deque<ControlChannel::Received>> inboxes_;
};

/// A member of a team of threads that can train like processes with one device each.
class LinkedTeam final : public ProcessTeam, public ControlSource {
public:
    LinkedTeam(ProcessTeam& team, ControlHub& hub) : team_(team), hub_(hub) {}

    [[nodiscard]] int rank() const override { return team_.rank(); }
    [[nodiscard]] int size() const override { return team_.size(); }
    [[nodiscard]] Result<std::string> broadcast(std::string bytes) override {
        return team_.broadcast(std::move(bytes));
    }
    [[nodiscard]] Result<std::vector<std::string>> gather(std::string bytes) override {
        return team_.gather(std::move(bytes));
    }
    [[nodiscard]] Result<std::vector<std::string>> exchange(std::vector<std::string> to) override {
        return team_.exchange(std::move(to));
    }
    [[nodiscard]] Result<std::unique_ptr<ControlChannel>> openControl() override {
        return std::unique_ptr<ControlChannel>(std::make_unique<Channel>(hub_, Rank{rank()}));
    }

private:
    class Channel final : public ControlChannel {
    public:
        Channel(ControlHub& hub, Rank self) : hub_(hub), self_(self) {}
        void send(Rank to, const ControlMessage& message) override { hub_.put(self_, to, message); }
        [[nodiscard]] std::optional<Received> receive() override { return hub_.take(self_); }

    private:
        ControlHub& hub_;
        Rank self_;
    };

    ProcessTeam& team_;
    ControlHub& hub_;
};

} // namespace bubblescope::runtime::test
