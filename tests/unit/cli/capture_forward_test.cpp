#include "app/cli/capture_forward.h"

#include "core/live/live_analyzer.h"
#include "core/live/stream_receiver.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Forwarded : public testing::Test {
protected:
    Forwarded() {
        for (int rank = 0; rank < 4; ++rank)
            ranks.write(rank, run.steps.front(), 0);
        auto opened = live::StreamReceiver::open({{"127.0.0.1", 0}, "secret", "clock", {}});
        EXPECT_TRUE(opened.ok()) << opened.error().text();
        receiver.emplace(std::move(opened).value());
        live::StreamSender::Options options{receiver->address(), "secret", "node", "clock", {}};
        auto started = CaptureForward::start(std::move(options), ranks.dir());
        EXPECT_TRUE(started.ok()) << started.error().text();
        forward = std::move(started).value();
    }
    /// Until all that was written has arrived.
    void listen() {
        while (analyzer.counts().slices < ranks.records())
            receiver->poll(analyzer, now += 1ms);
    }

    const test::JitteredRun wanted = test::fourRanks(2);
    const bubblescope::Run run = test::makeJitteredRun(wanted, 1);
    test::RecordedRanks ranks{test::infoOf(wanted)};
    live::LiveAnalyzer analyzer;
    std::optional<live::StreamReceiver> receiver;
    std::unique_ptr<CaptureForward> forward;
    TimeNs now{0};
};

TEST_F(Forwarded, ACollectorThatTakesNothingAnyMoreIsNotWaitedForWithoutEnd) {
    listen();
    for (int rank = 0; rank < 4; ++rank) // but it acknowledges nothing: it is stopped
        ranks.write(rank, run.steps.back(), 1);
    const Status sent = forward->finish({.patience = 500ms, .longest = 10s});
    ASSERT_FALSE(sent.ok()) << "all was said to have arrived";
    EXPECT_THAT(sent.error().text(), HasSubstr("of the recording did not reach the monitor"));
    EXPECT_THAT(sent.error().text(), HasSubstr("it no longer accepts data"));
}

} // namespace
} // namespace bubblescope::cli
