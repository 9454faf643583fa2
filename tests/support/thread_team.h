#pragma once

#include "core/base/process_team.h"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::test {

/// Meeting point for a team of threads. If a member leaves, the others stop waiting.
class ThreadHub {
public:
    explicit ThreadHub(std::size_t members) : slots_(members, std::vector<std::string>(members)) {}
    [[nodiscard]] std::size_t members() const { return slots_.size(); }

    /// Publishes `rows` for the other members and returns their rows for `rank` when all members have arrived.
    Result<std::vector<std::string>> meet(std::size_t rank, std::vector<std::string> rows) {
        std::unique_lock lock(mutex_);
        slots_[rank] = std::move(rows);
        if (!await(lock)) return runError("another member has left");
        std::vector<std::string> mine;
        for (const auto& row : slots_)
            mine.push_back(row[rank]);
        if (!await(lock)) return runError("another member has left"); // waits before the slots are written again
        return mine;
    }

    void leave() {
        const std::lock_guard lock(mutex_);
        left_ = true;
        changed_.notify_all();
    }

private:
    bool await(std::unique_lock<std::mutex>& lock) {
        const std::size_t meeting = meeting_;
        if (++here_ == members()) {
            here_ = 0;
            ++meeting_;
            changed_.notify_all();
            return true;
        }
        changed_.wait(lock, [&] { return meeting_ != meeting || left_; });
        return meeting_ != meeting;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::vector<std::string>> slots_; ///< by sender, then by receiver
    std::size_t here_ = 0;
    std::size_t meeting_ = 0;
    bool left_ = false;
};

/// A member of a team whose processes are threads of this process.
class ThreadTeam final : public ProcessTeam {
public:
    ThreadTeam(ThreadHub& hub, std::size_t rank) : hub_(hub), rank_(rank) {}
    ~ThreadTeam() override { hub_.leave(); }

    [[nodiscard]] int rank() const override { return static_cast<int>(rank_); }
    [[nodiscard]] int size() const override { return static_cast<int>(hub_.members()); }

    [[nodiscard]] Result<std::string> broadcast(std::string bytes) override {
        BUBBLESCOPE_ASSIGN(std::vector<std::string> all, hub_.meet(rank_, std::vector(hub_.members(), bytes)));
        return std::move(all.front());
    }
    [[nodiscard]] Result<std::vector<std::string>> gather(std::string bytes) override {
        std::vector<std::string> rows(hub_.members());
        rows.front() = std::move(bytes);
        BUBBLESCOPE_ASSIGN(std::vector<std::string> all, hub_.meet(rank_, std::move(rows)));
        if (!isRoot()) all.clear();
        return all;
    }
    [[nodiscard]] Result<std::vector<std::string>> exchange(std::vector<std::string> to) override {
        return hub_.meet(rank_, std::move(to));
    }

private:
    ThreadHub& hub_;
    std::size_t rank_;
};

/// Runs `work(team)` once per member, with the root on the calling thread, and returns the result of the root.
template <class Work>
auto asTeam(std::size_t members, const Work& work) {
    ThreadHub hub(members);
    std::vector<std::jthread> others;
    for (std::size_t rank = 1; rank < members; ++rank) {
        others.emplace_back([&hub, &work, rank] {
            ThreadTeam team(hub, rank);
            (void)work(team);
        });
    }
    ThreadTeam root(hub, 0);
    return work(root);
}

} // namespace bubblescope::test
