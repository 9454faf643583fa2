#include "core/live/alert.h"
#include "core/live/metrics.h"
#include "tests/unit/live/recorded_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <regex>
#include <set>
#include <sstream>

namespace bubblescope::live {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Exposition, SaysWhatTheEngineKnowsInPrometheusWords) {
    const auto wanted = test::fourRanks(3);
    const auto run = test::makeJitteredRun(wanted, 1);
    test::RecordedRanks ranks(test::infoOf(wanted));
    LiveAnalyzer analyzer;
    EXPECT_THAT(exposition(analyzer), HasSubstr("pp_steps_total 0\n"));
    for (int rank = 0; rank < 4; ++rank) {
        for (int step = 0; step < 3; ++step)
            ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
        ASSERT_TRUE(ranks.writer(rank).appendEnd(0).ok());
        analyzer.feed(analyzer.open(), ranks.news(rank), TimeNs{0});
    }
    (void)analyzer.advance(1s);
    const std::string page = exposition(analyzer);
    EXPECT_THAT(page, HasSubstr("pp_steps_total 3\n"));
    EXPECT_THAT(page, HasSubstr("pp_bubble_ratio{schedule=\"1f1b\"} 0."));
    EXPECT_THAT(page, HasSubstr("pp_bubble_seconds_total{rank=\"2\",dp=\"0\"} 0."));
    EXPECT_THAT(page, HasSubstr("pp_capture_dropped_records_total{reason=\"unheard\"} 0\n"));
    EXPECT_THAT(page, HasSubstr("pp_rank_up{rank=\"3\",dp=\"0\"} 0\n")) << "it has ended";

    // Each line is a comment or a sample, each metric is explained once, and counters are named as such.
    const std::regex sample(R"(([a-z_]+)(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[0-9.e+-]+)");
    std::set<std::string> explained;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# HELP ")) continue;
        if (line.starts_with("# TYPE ")) {
            std::istringstream words(line.substr(7));
            std::string name;
            std::string type;
            words >> name >> type;
            EXPECT_TRUE(explained.insert(name).second) << name;
            EXPECT_EQ(type == "counter", name.ends_with("_total")) << name;
            continue;
        }
        std::smatch parts;
        ASSERT_TRUE(std::regex_match(line, parts, sample)) << line;
        EXPECT_TRUE(explained.contains(parts[1])) << line;
    }
}

/// The response to a client with this request.
std::string ask(MetricsEndpoint& endpoint, const std::string& request) {
    net::Connector connector(endpoint.address());
    EXPECT_EQ(connector.wait(net::Clock::now() + 10s), net::Connector::Stage::Connected);
    net::Socket socket = connector.take();
    EXPECT_EQ(socket.write(request, net::Clock::now() + 10s), net::Socket::Outcome::Done);
    std::string answer;
    std::array<char, 4096> buffer{};
    while (true) {
        endpoint.serve([] { return std::string("the page\n"); });
        pollfd wait{socket.descriptor(), POLLIN, 0};
        if (::poll(&wait, 1, 10) != 1) continue;
        const net::Socket::Progress progress = socket.readSome(buffer.data(), buffer.size());
        if (progress.ended) return answer;
        answer.append(buffer.data(), progress.bytes);
    }
}

TEST(MetricsEndpoint, ServesThePage) {
    Result<MetricsEndpoint> opened = MetricsEndpoint::open({"127.0.0.1", 0});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    MetricsEndpoint& endpoint = opened.value();
    const std::string answer = ask(endpoint, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("Content-Length: 9\r\n"));
    EXPECT_TRUE(answer.ends_with("\r\n\r\nthe page\n"));
    EXPECT_THAT(ask(endpoint, "GET /secrets HTTP/1.1\r\n\r\n"), HasSubstr("404"));
    EXPECT_THAT(ask(endpoint, "POST /metrics HTTP/1.1\r\n\r\n"), HasSubstr("405"));
    EXPECT_EQ(ask(endpoint, std::string(20'000, 'x')), "");
}

TEST(Address, IsReadWithTheLoopbackUnlessToldOtherwise) {
    EXPECT_EQ(net::parseAddress("9100").value().text(), "127.0.0.1:9100");
    EXPECT_EQ(net::parseAddress(":9100").value().text(), "127.0.0.1:9100");
    EXPECT_EQ(net::parseAddress("0.0.0.0:1").value().text(), "0.0.0.0:1");
    EXPECT_EQ(net::parseAddress("[::1]:80").value().text(), "[::1]:80");
    for (const char* const wrong : {"", "host", "host:", "1:65536", "h:-1", "h:1x"})
        EXPECT_FALSE(net::parseAddress(wrong).ok()) << wrong;
}

TEST(Alert, RunsTheCommandButNotTooOften) {
    const test::ScratchFolder scratch;
    Alert alert("{ echo \"$BUBBLESCOPE_KIND\"; cat; } >>" + scratch.file("said"), {10s, 3, 4});
    const Alert::Message slow{"slow/1", {{"BUBBLESCOPE_KIND", "slow"}}, "{\"rank\":1}\n"};
    const auto finish = [&] {
        while (alert.running() > 0)
            alert.tend(0s);
    };
    EXPECT_TRUE(alert.raise(slow, 0s));
    finish();
    EXPECT_EQ(test::readAll(scratch.file("said")), "slow\n{\"rank\":1}\n");
    EXPECT_FALSE(alert.raise(slow, 9s)) << "the same thing";
    EXPECT_TRUE(alert.raise({"slow/2", {}, ""}, 9s));
    EXPECT_TRUE(alert.raise(slow, 10s));
    EXPECT_TRUE(alert.raise({"slow/3", {}, ""}, 11s));
    EXPECT_FALSE(alert.raise({"slow/4", {}, ""}, 12s)) << "the fourth in ten seconds";
    EXPECT_EQ(alert.heldBack(), 2);
    finish();
}

TEST(Alert, EndsCommandsThatHangWithAllThatTheyStarted) {
    Alert alert("trap '' TERM; sleep 1000 & sleep 1000", {10s, 20, 4, 30s});
    EXPECT_TRUE(alert.raise({"a", {{"LONG", std::string(1'000'000, 'x')}}, ""}, 0s)) << alert.problem();
    alert.tend(29s);
    EXPECT_EQ(alert.running(), 1U);
    while (alert.running() > 0)
        alert.tend(30s);
    EXPECT_TRUE(alert.raise({"b", {}, ""}, 31s));
    alert.stop(100ms);
    EXPECT_EQ(alert.running(), 0U);
}

TEST(Alert, EndsWhatACommandStartedThoughTheCommandItselfHasEnded) {
    const test::ScratchFolder scratch;
    const std::string file = scratch.file("pid");
    Alert alert("sh -c \"trap '' TERM; echo \\$\\$ >" + file + "; while :; do sleep 0.01; done\" & wait",
                {10s, 20, 4, 30s});
    ASSERT_TRUE(alert.raise({"a", {}, ""}, 0s)) << alert.problem();
    std::string pid;
    while (!pid.ends_with('\n'))
        pid = test::readAll(file);
    pid.pop_back();
    const std::string words = "/proc/" + pid + "/cmdline"; // which leaves nothing behind when it has ended
    ASSERT_NE(test::readAll(words), "");
    alert.stop(100ms); // the shell ends at once, what it started does not
    while (!test::readAll(words).empty()) {
    }
    EXPECT_EQ(alert.running(), 0U);
}

TEST(Alert, HidesTheTokenFromTheCommand) {
    const test::ScratchFolder scratch;
    ::setenv("BUBBLESCOPE_TOKEN", "secret", 1);
    Alert alert("env >" + scratch.file("said"), {10s, 3, 4});
    EXPECT_TRUE(alert.raise({"a", {{"BUBBLESCOPE_KIND", "slow"}}, ""}, 0s));
    while (alert.running() > 0)
        alert.tend(0s);
    ::unsetenv("BUBBLESCOPE_TOKEN");
    EXPECT_THAT(test::readAll(scratch.file("said")), testing::Not(HasSubstr("secret")));
    EXPECT_THAT(test::readAll(scratch.file("said")), HasSubstr("BUBBLESCOPE_KIND=slow"));
}

} // namespace
} // namespace bubblescope::live
