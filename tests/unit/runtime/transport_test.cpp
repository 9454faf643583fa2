#include "runtime/comm/inproc/in_process_transport.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace bubblescope::runtime {
namespace {

constexpr Rank kSender{1};
const MessageKey kKey{Content::Activation, Stage{1}, Stage{2}, Microbatch{1}};

Message message(float value, std::int64_t sent) {
    return {HostMatrix(2, 2, value), TimeNs{sent}};
}

TEST(Mailbox, HandsOutMessagesByKeyInAnyOrder) {
    Mailbox mailbox;
    const MessageKey gradient{Content::Gradient, Stage{3}, Stage{2}, Microbatch{1}};
    mailbox.put(kSender, kKey, message(1.0F, 10));
    mailbox.put(kSender, gradient, message(2.0F, 20));
    const auto second = mailbox.take(kSender, gradient);
    const auto first = mailbox.take(kSender, kKey);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(second->message.tensor.host()(0, 0), 2.0F);
    EXPECT_EQ(first->message.tensor.host()(0, 0), 1.0F);
    EXPECT_EQ(first->message.sent, TimeNs{10});
    EXPECT_FALSE(first->waited);
}

TEST(Mailbox, WaitsForTheMessage) {
    Mailbox mailbox;
    std::optional<Taken> taken;
    std::thread consumer([&] { taken = mailbox.take(kSender, kKey); });
    mailbox.put(kSender, {Content::Activation, Stage{1}, Stage{2}, Microbatch{0}}, message(1.0F, 1));
    mailbox.put(kSender, kKey, message(3.0F, 30));
    consumer.join();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->message.sent, TimeNs{30});
}

TEST(Mailbox, AbortWakesTheWaitingRank) {
    Mailbox mailbox;
    std::optional<Taken> taken = Taken{};
    std::thread consumer([&] { taken = mailbox.take(kSender, kKey); });
    mailbox.abort();
    consumer.join();
    EXPECT_FALSE(taken);
    mailbox.put(kSender, kKey, message(1.0F, 1));
    EXPECT_FALSE(mailbox.take(kSender, kKey)) << "nothing is taken after an abort";
}

TEST(StepBarrier, GivesEveryRankTheLatestTimeOfItsRound) {
    constexpr int kRanks = 4;
    constexpr int kRounds = 200;
    StepBarrier barrier(kRanks);
    std::vector<std::vector<TimeNs>> seen(kRanks);
    std::vector<std::thread> ranks;
    for (int r = 0; r < kRanks; ++r) {
        ranks.emplace_back([&, r] {
            for (int round = 0; round < kRounds; ++round)
                seen[static_cast<std::size_t>(r)].push_back(
                    barrier.arriveAndWait(TimeNs{-1000 * round + r}).value_or(TimeNs{1}));
        });
    }
    for (std::thread& rank : ranks)
        rank.join();
    for (const auto& times : seen) {
        ASSERT_EQ(times.size(), static_cast<std::size_t>(kRounds));
        for (int round = 0; round < kRounds; ++round)
            EXPECT_EQ(times[static_cast<std::size_t>(round)].count(), -1000 * round + kRanks - 1);
    }
}

TEST(StepBarrier, AbortWakesThoseWhoWait) {
    StepBarrier barrier(2);
    std::optional<TimeNs> result = TimeNs{0};
    std::thread rank([&] { result = barrier.arriveAndWait(TimeNs{1}); });
    barrier.abort();
    rank.join();
    EXPECT_FALSE(result);
    EXPECT_FALSE(barrier.arriveAndWait(TimeNs{2}));
}

TEST(HostLoad, IsCrowdedOnlyWhereRanksOutnumberCores) {
    EXPECT_FALSE((HostLoad{.ranks = 2, .busy = 1, .cores = 2}).crowded());
    EXPECT_FALSE((HostLoad{.ranks = 2, .busy = 2, .cores = 2}).crowded());
    EXPECT_FALSE((HostLoad{.ranks = 4, .busy = 1, .cores = 2}).crowded());
    EXPECT_TRUE((HostLoad{.ranks = 4, .busy = 2, .cores = 2}).crowded());
}

} // namespace
} // namespace bubblescope::runtime
