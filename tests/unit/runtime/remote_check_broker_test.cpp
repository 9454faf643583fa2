// Brokers of ranks that share no memory, over the transport of one process.

#include "runtime/checks/remote_check_broker.h"

#include "runtime/comm/inproc/in_process_transport.h"
#include "tests/unit/runtime/fake_clock.h"
#include "tests/unit/runtime/shipped_layers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

namespace bubblescope::runtime {
namespace {

using Reply = CheckBroker::Reply;

constexpr TimeNs kAges{3'600'000'000'000};

class RemoteCheckBrokers : public ::testing::Test {
protected:
    explicit RemoteCheckBrokers(int ranks = 3) : transports_(ranks, clock_, std::nullopt), ends_(transports_.ends()) {
        for (Transport* const end : ends_)
            brokers_.emplace_back(*end, ranks);
    }

    RemoteCheckBroker& at(std::size_t rank) { return brokers_[rank]; }

    std::shared_ptr<CheckBroker::Question> ask(std::size_t rank, std::vector<Rank> excluded) {
        auto question = std::make_shared<CheckBroker::Question>();
        question->layer = test::someLayer();
        question->excluded = std::move(excluded);
        at(rank).ask(question);
        return question;
    }

    Reply replyTo(std::size_t rank, const std::shared_ptr<CheckBroker::Question>& question) {
        return at(rank).replyTo(question, ends_[rank]->ended());
    }

    void offer(std::size_t rank) {
        ASSERT_TRUE(at(rank).hasRoom(Rank{rank}));
        at(rank).offer(Rank{rank}, test::someLayer());
        at(rank).onIdle(kAges);
    }

    /// Nothing is open anywhere: all leave, each on its thread as its process would.
    void leaveTogether(std::vector<bool> open = {}) {
        std::vector<std::thread> ranks;
        for (std::size_t r = 0; r < ends_.size(); ++r) {
            ranks.emplace_back([&, r] {
                while (!at(r).drain(r < open.size() && open[r])) {
                }
            });
        }
        for (std::thread& rank : ranks)
            rank.join();
    }

    test::FakeClock clock_;
    InProcessTransports transports_;
    std::vector<Transport*> ends_;
    std::deque<RemoteCheckBroker> brokers_;
};

TEST_F(RemoteCheckBrokers, TakeAQuestionToAnotherRankAndItsAnswerBack) {
    EXPECT_TRUE(at(0).hasOthers(2));
    EXPECT_FALSE(at(0).hasOthers(3));
    const auto question = ask(0, {Rank{0}, Rank{1}});
    EXPECT_EQ(replyTo(0, question), Reply::Waiting);
    EXPECT_EQ(at(1).nextQuestion(Rank{1}), nullptr) << "it must not be the one to answer";
    const auto here = at(2).nextQuestion(Rank{2});
    ASSERT_NE(here, nullptr);
    EXPECT_EQ(opName(here->layer.run.op), opName(question->layer.run.op));
    here->once = here->twice = question->layer.first;
    here->twice.back().digest ^= 1U;
    at(2).answer(here);
    EXPECT_EQ(replyTo(0, question), Reply::Answered);
    EXPECT_EQ(question->answered_by, Rank{2});
    EXPECT_FALSE(firstDifference(question->once, question->layer.first));
    EXPECT_TRUE(firstDifference(question->once, question->twice));
    leaveTogether();
}

TEST_F(RemoteCheckBrokers, LeaveAQuestionOpenThatNobodyMayAnswer) {
    const auto question = ask(1, {Rank{0}, Rank{1}, Rank{2}});
    EXPECT_EQ(replyTo(1, question), Reply::Never);
    leaveTogether();
}

TEST_F(RemoteCheckBrokers, BringAnOfferToWhoeverHasTheTimeAndTheResultBack) {
    offer(0);
    EXPECT_FALSE(at(1).takeOffer(Rank{1}, kAges)) << "it is not read before there is time for that";
    at(1).onIdle(TimeNs{10});
    EXPECT_FALSE(at(1).takeOffer(Rank{1}, kAges)) << "and that is not enough";
    at(1).onIdle(kAges);
    EXPECT_FALSE(at(1).takeOffer(Rank{1}, TimeNs{999'999})) << "it costs more";
    auto taken = at(1).takeOffer(Rank{1}, TimeNs{1'000'000});
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->first, Rank{0});
    CheckBroker::RemoteResult done;
    done.by = Rank{1};
    done.start = TimeNs{100};
    done.end = TimeNs{200};
    done.result = test::someLayer().first;
    done.result[2].digest ^= 1U;
    done.result[2].values[1] = 5;
    done.layer = std::move(taken->second);
    at(1).returnResult(Rank{0}, std::move(done));
    const auto back = at(0).takeResults(Rank{0});
    ASSERT_EQ(back.size(), 1U);
    EXPECT_EQ(back[0].by, Rank{1});
    EXPECT_EQ(back[0].start, TimeNs{100});
    EXPECT_EQ(back[0].end, TimeNs{200});
    EXPECT_EQ(firstDifference(back[0].layer.first, back[0].result), std::optional<std::size_t>(2));
    EXPECT_EQ(back[0].result[2].values.at(1), 5) << "of what differs the numbers come too";
    EXPECT_TRUE(back[0].result[1].values.empty()) << "and of nothing else";
    EXPECT_FALSE(back[0].layer.first[1].values.empty()) << "the first ones never left";
    leaveTogether();
}

TEST_F(RemoteCheckBrokers, HoldFewOffersAndTakeBackWhatNobodyWants) {
    for (int i = 0; i < 4; ++i)
        offer(0);
    EXPECT_FALSE(at(0).hasRoom(Rank{0}));
    // One of them is read and not taken, the others are not even read.
    at(1).onIdle(TimeNs{8'000});
    for (int step = 0; step < 4; ++step) {
        EXPECT_FALSE(at(0).hasRoom(Rank{0})) << step;
        for (std::size_t rank = 1; rank < 3; ++rank) {
            EXPECT_EQ(at(rank).nextQuestion(Rank{rank}), nullptr); // looks at its mail
            at(rank).onStepEnd();
        }
        static_cast<void>(at(0).takeResults(Rank{0}));
    }
    EXPECT_TRUE(at(0).hasRoom(Rank{0}));
    EXPECT_FALSE(at(1).takeOffer(Rank{1}, kAges));
    leaveTogether();
}

TEST_F(RemoteCheckBrokers, TakeAVerdictToTheRankThatItIsOn) {
    CheckRecord record;
    record.tensor = "output";
    record.outcome = CheckOutcome::Mismatch;
    record.verdict = Verdict::Device;
    EXPECT_FALSE(at(1).sendVerdict(Rank{1}, record)) << "its own it writes itself";
    EXPECT_TRUE(at(1).sendVerdict(Rank{2}, record));
    const auto told = at(2).takeVerdicts();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].verdict, Verdict::Device);
    EXPECT_TRUE(at(2).takeVerdicts().empty());
    leaveTogether();
}

TEST_F(RemoteCheckBrokers, ThrowAwayWhatCannotBeReadAndWaitForNothingOfIt) {
    const auto question = ask(0, {Rank{0}, Rank{2}});
    offer(0); // to rank 2
    ends_[1]->post({Rank{0}, "no check at all", {}});
    EXPECT_EQ(replyTo(0, question), Reply::Never) << "that may have been the answer";
    EXPECT_NE(at(1).nextQuestion(Rank{1}), nullptr);
    ends_[0]->post({Rank{2}, std::string(40, 'x'), {}});
    EXPECT_EQ(at(2).nextQuestion(Rank{2}), nullptr);
    EXPECT_TRUE(at(0).takeResults(Rank{0}).empty()); // is informed that a message could not be read
    leaveTogether();
}

TEST_F(RemoteCheckBrokers, StayUntilTheLastQuestionIsAnswered) {
    const auto question = ask(0, {Rank{0}, Rank{1}});
    offer(1); // which is not taken any more
    std::atomic<bool> answered{false};
    std::thread third([&] {
        while (!at(2).drain(false)) {
            if (const auto here = at(2).nextQuestion(Rank{2})) {
                here->once = here->twice = question->layer.first;
                answered = true;
                at(2).answer(here);
            }
        }
    });
    std::thread second([&] {
        while (!at(1).drain(false)) {
        }
        EXPECT_TRUE(answered) << "not before all are through";
    });
    Reply reply = replyTo(0, question);
    while (!at(0).drain(reply == Reply::Waiting)) {
        if (reply == Reply::Waiting) reply = replyTo(0, question);
    }
    third.join();
    second.join();
    EXPECT_EQ(reply, Reply::Answered);
}

TEST_F(RemoteCheckBrokers, LeaveWhatIsAskedOpenWhenTheRunEnds) {
    const auto question = ask(0, {Rank{0}});
    std::thread waits([&] {
        while (!at(0).drain(true)) {
        }
    });
    ends_[1]->fail(runError("rank 1 has died"));
    waits.join();
    EXPECT_EQ(replyTo(0, question), Reply::Never);
    EXPECT_TRUE(at(2).drain(true));
}

class OneProcessBoard : public RemoteCheckBrokers {
protected:
    OneProcessBoard() : RemoteCheckBrokers(1) {}
};

TEST_F(OneProcessBoard, HasNobodyToAskOrToWaitFor) {
    EXPECT_FALSE(at(0).hasOthers(1));
    EXPECT_EQ(replyTo(0, ask(0, {Rank{0}})), Reply::Never);
    EXPECT_TRUE(at(0).drain(false));
}

} // namespace
} // namespace bubblescope::runtime
