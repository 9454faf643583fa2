#include "core/cost/communicators.h"
#include "core/families/registry.h"
#include "core/graph/hang.h"
#include "core/graph/validate_lowered.h"
#include "core/lowering/torch_lowering.h"
#include "core/schedule/action.h"
#include "core/schedule/schedule_files.h"
#include "tests/support/sanitized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

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
            if (isTransferWait(action.kind)) needs.emplace_back(keyOf(action), isSendWait(action.kind));
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

QueueModel queues(CommunicatorKind kind, std::int64_t eager = 0, bool blocks = false) {
    return {{kind, {}}, eager, blocks};
}

LoweredSchedule part(const std::string& csv) {
    return loweredFromCsv(csv, "text").value();
}

Schedule order(const std::string& name, int pp, int microbatches, int vpp) {
    const auto& flavors = findScheduleFamily(name)->flavors;
    const bool own = std::ranges::find(flavors, "torch") != flavors.end();
    return makeSchedule({name, own ? "torch" : "", pp, microbatches, vpp}).value();
}

// pytorch#172668, as reported.
const std::string kBothSendFirst = "0SEND_F1,2RECV_F0,2F0\n1SEND_F0,1RECV_F1,1F1\n";
const std::string kOddRanksReceiveFirst =
    "2SEND_F1,0F2,0SEND_F2,2RECV_B0,2B0\n3RECV_F1,3SEND_B0,3F1,3B1,1RECV_F2,3SEND_B1,1F2\n";

TEST(HangVerdict, TwoRanksThatSendFirstHangInOneCommunicator) {
    const LoweredSchedule stuck = part(kBothSendFirst);
    const HangVerdict verdict = hangVerdict(stuck, queues(CommunicatorKind::One));
    ASSERT_EQ(verdict.cycle.size(), 4U);
    EXPECT_EQ(verdict.from_bytes, 1);
    for (std::size_t i = 0; i < verdict.cycle.size(); ++i)
        EXPECT_EQ(verdict.cycle[i].waits_for, verdict.cycle[(i + 1) % verdict.cycle.size()].call);
    EXPECT_NE(cycleText(verdict.cycle).text().find("rank 0: 2RECV_F0 waits behind 0SEND_F1 on communicator all"),
              std::string::npos)
        << cycleText(verdict.cycle).text();
    EXPECT_TRUE(hangVerdict(stuck, queues(CommunicatorKind::Direction)).hangs());
    EXPECT_TRUE(hangVerdict(stuck, queues(CommunicatorKind::Pair)).hangs());
    EXPECT_FALSE(hangVerdict(stuck, queues(CommunicatorKind::Edge)).hangs());
    EXPECT_FALSE(hangVerdict(stuck, queues(CommunicatorKind::Tag)).hangs());
}

TEST(HangVerdict, ReceivingFirstOnOddRanksDoesNotHelp) {
    const LoweredSchedule stuck = part(kOddRanksReceiveFirst);
    EXPECT_TRUE(hangVerdict(stuck, queues(CommunicatorKind::One)).hangs());
    EXPECT_FALSE(hangVerdict(stuck, queues(CommunicatorKind::Direction)).hangs());
    EXPECT_FALSE(hangVerdict(stuck, queues(CommunicatorKind::Edge)).hangs());
}

TEST(HangVerdict, SmallPayloadsEndEagerly) {
    const HangVerdict verdict = hangVerdict(part(kBothSendFirst), queues(CommunicatorKind::One, 65536));
    EXPECT_TRUE(verdict.hangs());
    EXPECT_EQ(verdict.from_bytes, 65537);
    const HangVerdict always =
        hangVerdict(part("0F0,1RECV_B0\n"), queues(CommunicatorKind::One)); // no other end: reported elsewhere
    EXPECT_FALSE(always.hangs());
}

TEST(HangVerdict, ReceivesThatNeedEachOthersOpsHangAtAnySize) {
    // Each rank computes what it receives before it sends what the other one waits for.
    const auto verdict =
        hangVerdict(part("0F0,2RECV_F0,2F0,0SEND_F0\n1RECV_F0,1F0,1SEND_F0\n"), queues(CommunicatorKind::Tag, 1 << 20));
    ASSERT_TRUE(verdict.hangs());
    EXPECT_EQ(verdict.from_bytes, 0);
}

TEST(HangVerdict, GroupsProceedTogether) {
    const std::string grouped = "(0SEND_F1;2RECV_F0)GROUP,2F0\n(1SEND_F0;1RECV_F1)GROUP,1F1\n";
    EXPECT_FALSE(hangVerdict(part(grouped), queues(CommunicatorKind::One)).hangs());
}

TEST(HangVerdict, AReceiveThatBlocksComputeHangsWhatElseRuns) {
    // Rank 0 posts a receive before the op whose output rank 1 needs first.
    const std::string csv = "2RECV_F0,0F0,0SEND_F0,2F0\n1RECV_F0,1F0,1SEND_F0\n";
    EXPECT_FALSE(hangVerdict(part(csv), queues(CommunicatorKind::Edge)).hangs());
    EXPECT_TRUE(hangVerdict(part(csv), queues(CommunicatorKind::Edge, 0, true)).hangs());
}

TEST(HangVerdict, OneDirectionOfALoopedPipelineHangsAtTheWrap) {
    // pytorch#195760: a receive from the last rank queues behind sends to the next one.
    TorchLowering deferred;
    deferred.defer_pp_recv = true;
    const auto lowered = lowerAsTorch(order("looped-bfs", 4, 4, 2), deferred).value();
    const HangVerdict verdict = hangVerdict(lowered, queues(CommunicatorKind::Direction));
    EXPECT_EQ(verdict.cycle.size(), 8U) << "once round the four ranks";
    EXPECT_FALSE(hangVerdict(lowered, queues(CommunicatorKind::Edge)).hangs());
    EXPECT_FALSE(
        hangVerdict(lowerAsTorch(order("looped-bfs", 4, 4, 2), {}).value(), queues(CommunicatorKind::One)).hangs())
        << "receives that are posted as early as PyTorch's default";
}

TEST(HangVerdict, ALoopedPipelineHangsOnlyIfEveryRankHasABlockedSend) {
    // pytorch#195760 shows two micro-batches on four ranks, which wait but do not hang.
    TorchLowering deferred;
    deferred.defer_pp_recv = true;
    for (int pp = 2; pp <= 5; ++pp) {
        for (int microbatches = 2; microbatches <= 6; ++microbatches) {
            const auto lowered = lowerAsTorch(order("looped-bfs", pp, microbatches, 2), deferred).value();
            EXPECT_EQ(hangVerdict(lowered, queues(CommunicatorKind::Direction)).hangs(), microbatches >= pp)
                << pp << " " << microbatches;
        }
    }
}

TEST(Validation, ReportsTheCycleAndWhatElseIsWrong) {
    const auto kinds = [](const LoweredValidation& found) {
        std::vector<std::string> all;
        for (const ScheduleProblem& problem : found.problems)
            all.push_back(problem.kind);
        return all;
    };
    const auto lowered = lowerAsTorch(order("1f1b", 2, 4, 1), {}).value();
    const auto one = validateLowered(lowered, {}, queues(CommunicatorKind::One));
    EXPECT_TRUE(validateLowered(lowered, {}, queues(CommunicatorKind::Edge)).problems.empty());
    EXPECT_EQ(one.problems.empty(), !one.hang->hangs());
    const auto stuck = validateLowered(part(kBothSendFirst), {}, queues(CommunicatorKind::One));
    ASSERT_FALSE(stuck.problems.empty());
    EXPECT_EQ(kinds(stuck).front(), "hang");
}

TEST(WrongPairings, FindsReceivesInAnotherOrderThanTheirSends) {
    const LoweredSchedule crossed = part("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F1,1RECV_F0,1F0,1F1\n");
    const auto wrong = wrongPairings(crossed, {CommunicatorKind::Edge, {}});
    ASSERT_EQ(wrong.size(), 1U);
    EXPECT_EQ(wrong[0].receive, "1RECV_F1");
    EXPECT_EQ(wrong[0].send, "0SEND_F0");
    EXPECT_TRUE(wrongPairings(crossed, {CommunicatorKind::Tag, {}}).empty());
}

/// Moves actions without breaking the rules of the order: receives before their ops, sends after theirs, waits after
/// their sends.
class Shuffled {
public:
    explicit Shuffled(std::uint32_t seed) : random_(seed) {}

    LoweredSchedule next() {
        static const std::vector<std::tuple<std::string, int, int, int>> orders{
            {"fthenb", 3, 3, 1},      {"1f1b", 3, 4, 1},           {"1f1b", 4, 4, 1}, {"interleaved", 2, 4, 2},
            {"interleaved", 3, 3, 2}, {"interleaved-zb", 2, 4, 2}, {"zb-v", 2, 3, 2}, {"looped-bfs", 4, 4, 2},
            {"looped-bfs", 3, 2, 2},  {"dualpipev", 2, 4, 2},      {"zb-v", 3, 5, 2}};
        const auto& [name, pp, microbatches, vpp] = orders[pick(orders.size())];
        TorchLowering options;
        options.defer_pp_recv = pick(2) == 0;
        options.max_active_stages = 2 + static_cast<int>(pick(2));
        LoweredSchedule lowered = lowerAsTorch(order(name, pp, microbatches, vpp), options).value();
        const bool waits = pick(3) != 0;
        for (auto& list : lowered.actions) {
            if (!waits) std::erase_if(list, [](const Action& action) { return isSendWait(action.kind); });
            shuffle(list, lowered.order);
        }
        return lowered;
    }

private:
    std::size_t pick(std::size_t below) { return random_() % below; }

    void shuffle(std::vector<Action>& list, const Schedule& schedule) {
        const std::size_t moves = pick(4) == 0 ? 0 : pick(3 * list.size());
        for (std::size_t i = 0; i < moves; ++i) {
            const std::size_t at = pick(list.size() - 1);
            if (maySwap(list[at], list[at + 1], schedule)) std::swap(list[at], list[at + 1]);
        }
        for (std::size_t i = 0; i + 1 < list.size(); ++i)
            list[i].grouped = isTransfer(list[i].kind) && isTransfer(list[i + 1].kind) && pick(5) == 0;
        if (pick(3) == 0) waitForReceives(list);
    }

    /// Some calls wait for what they receive, as Megatron-core's do.
    void waitForReceives(std::vector<Action>& list) {
        std::vector<Action> result;
        std::vector<Action> waits;
        for (const Action& action : list) {
            result.push_back(action);
            if (isReceive(action.kind) && pick(4) == 0) waits.push_back(waitFor(action));
            if (action.grouped) continue;
            result.insert(result.end(), waits.begin(), waits.end());
            waits.clear();
        }
        list = std::move(result);
    }

    static bool maySwapTransfer(const Action& transfer, const Action& other) {
        // A receive must not pass its op, nor a send its op or its wait: keep both away from all of their micro-batch.
        return other.kind == ActionKind::Compute || isSendWait(other.kind) ? transfer.microbatch != other.microbatch
                                                                           : true;
    }
    static bool maySwap(const Action& a, const Action& b, const Schedule& schedule) {
        const auto pair = [&](const Action& action) {
            if (action.kind != ActionKind::Compute) return false;
            for (const auto& ops : schedule.ranks) {
                const auto at = static_cast<std::size_t>(action.op);
                if (at < ops.size() && ops[at].overlapped) return true;
            }
            return false;
        };
        if (isTransfer(a.kind) && isTransfer(b.kind)) return true;
        if (isTransfer(a.kind)) return !pair(b) && maySwapTransfer(a, b);
        if (isTransfer(b.kind)) return !pair(a) && maySwapTransfer(b, a);
        return false;
    }

    std::mt19937 random_;
};

TEST(HangVerdict, EqualsWhatThreadsOnQueuesDo) {
    const char* const wanted = std::getenv("BUBBLESCOPE_CAMPAIGN");
    const int rounds = wanted != nullptr && std::string(wanted) == "full" ? 4000 : test::kSanitized ? 200 : 600;
    Shuffled orders(20260928);
    int hung = 0;
    int finished = 0;
    for (int round = 0; round < rounds; ++round) {
        const LoweredSchedule lowered = orders.next();
        for (const CommunicatorKind kind : {CommunicatorKind::One, CommunicatorKind::Direction, CommunicatorKind::Edge,
                                            CommunicatorKind::Pair, CommunicatorKind::Tag}) {
            const QueueModel model = queues(kind, 1024, round % 4 == 0);
            const HangVerdict verdict = hangVerdict(lowered, model);
            for (const std::int64_t bytes : {1024, 4096}) {
                const bool hangs = verdict.hangs() && bytes >= verdict.from_bytes;
                const bool finishes =
                    QueueEmulation(lowered, model, bytes, static_cast<std::uint32_t>(round)).finishes();
                ASSERT_EQ(hangs, !finishes) << round << " " << communicatorKindName(kind) << " " << bytes << "\n"
                                            << scheduleToJson(lowered) << "\n"
                                            << cycleText(verdict.cycle).text();
                (hangs ? hung : finished) += 1;
            }
        }
    }
    EXPECT_GT(hung, rounds);
    EXPECT_GT(finished, rounds);
}

} // namespace
} // namespace bubblescope
