#pragma once

#include "core/cost/communicators.h"
#include "core/schedule/action.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::test {

/// Carries out a lowered schedule with one thread per rank on communicators that queue as NCCL's do. It shares nothing
/// with the verdict but the schedule. A hang is detected by state: every rank that has not finished is blocked.
class QueueEmulation {
public:
    QueueEmulation(const LoweredSchedule& lowered, const QueueModel& model, std::int64_t bytes, std::uint32_t seed)
        : lowered_(lowered), model_(model), eager_(bytes <= model.eager_bytes), seed_(seed) {}

    /// True if all ranks came to their ends and nothing was left in a queue.
    bool finishes() {
        const std::size_t ranks = lowered_.actions.size();
        waiting_.resize(ranks);
        running_ = ranks;
        std::vector<std::thread> threads;
        for (std::size_t r = 0; r < ranks; ++r)
            threads.emplace_back([this, r] { runRank(r); });
        for (std::thread& thread : threads)
            thread.join();
        return !stuck_ && std::ranges::all_of(queues_, [](const auto& queue) { return queue.second.empty(); });
    }

private:
    /// A transfer: payload, consuming stage, micro-batch.
    using Key = std::tuple<int, int, int>;
    struct End {
        Key key;
        bool send = false;
        bool done = false;
    };
    struct Call {
        std::vector<End> ends;
        bool open = false; ///< more of its group is to come
    };

    static Key keyOf(const Action& action) {
        const bool activation = payloadOf(action.kind) == Payload::Activation;
        return {activation ? 0 : 1, consumerOf(action).value, action.microbatch.value};
    }

    void runRank(std::size_t rank) {
        std::mt19937 random(seed_ + static_cast<std::uint32_t>(rank) * 7919U);
        std::vector<Key> received; // since the last op
        for (const Action& action : lowered_.actions[rank]) {
            if (random() % 4 == 0) std::this_thread::yield();
            std::unique_lock lock(mutex_);
            if (stuck_) return;
            if (isTransfer(action.kind)) {
                post(rank, action);
                if (isReceive(action.kind)) received.push_back(keyOf(action));
                if (!action.grouped) {
                    closeGroup(rank);
                    progress();
                }
                continue;
            }
            std::vector<std::pair<Key, bool>> needs; // and whether the send
            if (isSendWait(action.kind)) needs.emplace_back(keyOf(action), true);
            if (action.kind == ActionKind::Compute) {
                needs = inputsOf(rank, action);
                if (model_.receive_blocks_compute) {
                    for (const Key& key : received)
                        needs.emplace_back(key, false);
                }
                received.clear();
            }
            if (!waitFor(lock, rank, needs)) return;
        }
        const std::lock_guard lock(mutex_);
        --running_;
        noteIfStuck();
    }

    std::vector<std::pair<Key, bool>> inputsOf(std::size_t rank, const Action& action) const {
        std::vector<std::pair<Key, bool>> needs;
        const auto& ops = lowered_.order.ranks[rank];
        for (auto i = static_cast<std::size_t>(action.op); i < ops.size(); ++i) {
            const Op& op = ops[i];
            const int stage = lowered_.order.stageOf(Rank{rank}, op.chunk).value;
            const Key key{op.kind == OpKind::Forward ? 0 : 1, stage, op.microbatch.value};
            const bool takes = op.kind == OpKind::Forward || producesInputGradient(op.kind);
            if (takes && posted_.contains(key)) needs.emplace_back(key, false);
            const bool more = op.overlapped && i == static_cast<std::size_t>(action.op);
            if (!more) break;
        }
        return needs;
    }

    void post(std::size_t rank, const Action& action) {
        const Schedule& order = lowered_.order;
        const bool up = (payloadOf(action.kind) == Payload::Activation) == isSend(action.kind);
        const Rank peer = locate(order.placement, order.pp, Stage{action.stage.value + (up ? 1 : -1)}).rank;
        const Rank here{rank};
        std::int64_t number = model_.communicators.of(payloadOf(action.kind), isSend(action.kind) ? here : peer,
                                                      isSend(action.kind) ? peer : here, order.pp);
        if (number < 0) number = -2 - next_tag_++; // a queue of its own
        auto& queue = queues_[{rank, number}];
        if (queue.empty() || !queue.back().open) queue.push_back({{}, true});
        queue.back().ends.push_back({keyOf(action), isSend(action.kind), false});
        if (isReceive(action.kind)) posted_.insert(keyOf(action));
    }
    void closeGroup(std::size_t rank) {
        for (auto& [key, queue] : queues_) {
            if (key.first == rank && !queue.empty()) queue.back().open = false;
        }
    }

    /// Ends all transfers that can end.
    void progress() {
        for (bool moved = true; moved;) {
            moved = false;
            std::map<std::pair<Key, bool>, End*> heads;
            for (auto& [key, queue] : queues_) {
                if (queue.empty() || queue.front().open) continue;
                for (End& end : queue.front().ends)
                    heads[{end.key, end.send}] = &end;
            }
            for (auto& [key, end] : heads) {
                if (end->done) continue;
                const bool other = heads.contains({key.first, !key.second}) || done_.contains({key.first, !key.second});
                if (!other && !(eager_ && end->send)) continue;
                end->done = true;
                done_.insert(key);
                moved = true;
            }
            for (auto& [key, queue] : queues_) {
                if (queue.empty() || !std::ranges::all_of(queue.front().ends, &End::done)) continue;
                queue.erase(queue.begin());
                moved = true;
            }
        }
        wake_.notify_all();
    }

    bool isDone(const std::vector<std::pair<Key, bool>>& needs) const {
        return std::ranges::all_of(needs, [this](const auto& need) { return done_.contains(need); });
    }

    /// False if it never comes.
    bool waitFor(std::unique_lock<std::mutex>& lock, std::size_t rank, const std::vector<std::pair<Key, bool>>& needs) {
        if (isDone(needs)) return true;
        waiting_[rank] = &needs;
        noteIfStuck();
        wake_.wait(lock, [&] { return stuck_ || isDone(needs); });
        waiting_[rank] = nullptr;
        return !stuck_;
    }

    /// All ranks that have not finished wait, and none of their needs is met.
    void noteIfStuck() {
        std::size_t blocked = 0;
        for (const auto* needs : waiting_)
            blocked += needs != nullptr && !isDone(*needs) ? 1 : 0;
        if (blocked == 0 || blocked < running_) return;
        stuck_ = true;
        wake_.notify_all();
    }

    const LoweredSchedule& lowered_;
    const QueueModel& model_;
    bool eager_;
    std::uint32_t seed_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::map<std::pair<std::size_t, std::int64_t>, std::vector<Call>> queues_; ///< by rank and communicator
    std::set<std::pair<Key, bool>> done_;
    std::set<Key> posted_; ///< receives
    std::int64_t next_tag_ = 0;
    std::vector<const std::vector<std::pair<Key, bool>>*> waiting_; ///< per rank
    std::size_t running_ = 0;                                       ///< ranks that have not finished
    bool stuck_ = false;
};

} // namespace bubblescope::test
