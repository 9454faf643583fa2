#include "core/otlp/exporter.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <poll.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::otlp {
namespace {

using namespace std::chrono_literals;

Telemetry oneSpan(const std::string& name) {
    Telemetry made;
    Span span;
    span.trace = identifier(name, 16);
    span.id = identifier(name, 8);
    span.name = name;
    made.spans.push_back(span);
    return made;
}

/// Answers each connection with the next of its answers; the last one is repeated. An empty answer is none at all.
class FakeCollector {
public:
    explicit FakeCollector(std::vector<std::string> answers) : answers_(std::move(answers)) {
        address_.host = "127.0.0.1";
        listener_ = net::Listener::open(address_).value();
        thread_ = std::thread([this] { serve(); });
    }
    ~FakeCollector() {
        stopped_ = true;
        thread_.join();
    }
    [[nodiscard]] Collector collector(const std::string& path = "") const {
        return Collector::parse("http://" + address_.text() + path).value();
    }
    /// Call after everything was sent.
    [[nodiscard]] const std::vector<std::string>& requests() const { return requests_; }

private:
    void serve() {
        std::vector<net::Socket> open; // those that get no answer
        while (!stopped_) {
            std::error_code failed;
            net::Socket socket = listener_.accept(net::Clock::now() + 20ms, failed);
            if (!socket.isOpen()) continue;
            std::string request;
            std::array<char, 4096> part{};
            while (request.find("\r\n\r\n") == std::string::npos || request.find("]}]}]}") == std::string::npos) {
                pollfd waited{socket.descriptor(), POLLIN, 0};
                if (::poll(&waited, 1, 1000) <= 0) break;
                const auto progress = socket.readSome(part.data(), part.size());
                request.append(part.data(), progress.bytes);
                if (progress.ended) break;
            }
            const std::string& answer = answers_[std::min(requests_.size(), answers_.size() - 1)];
            requests_.push_back(request);
            if (answer.empty()) {
                open.push_back(std::move(socket));
                continue;
            }
            static_cast<void>(socket.write(answer, net::Clock::now() + 1s));
        }
    }

    std::vector<std::string> answers_;
    std::vector<std::string> requests_;
    net::Address address_;
    net::Listener listener_;
    std::atomic<bool> stopped_{false};
    std::thread thread_;
};

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

TEST(OtlpCollector, IsAnHttpAddress) {
    const auto plain = Collector::parse("http://collector:4318").value();
    EXPECT_EQ(plain.address.text(), "collector:4318");
    EXPECT_EQ(plain.path, "");
    EXPECT_EQ(Collector::parse("collector").value().address.port, 4318);
    EXPECT_EQ(Collector::parse("http://[::1]/otlp/").value().path, "/otlp");
    EXPECT_EQ(Collector::parse("http://[::1]").value().address.port, 4318);
    for (const char* const wrong : {"", "http://", "https://collector", "http://a b", "http://host:99999", ":4318"}) {
        const auto parsed = Collector::parse(wrong);
        ASSERT_FALSE(parsed.ok()) << wrong;
        EXPECT_EQ(parsed.error().kind, ErrorKind::Usage);
    }
}

TEST(OtlpSend, PostsSpansAndMetrics) {
    FakeCollector fake({kOk});
    Telemetry both = oneSpan("step 1");
    both.metrics.push_back({"pp.steps", "", "{step}", true, {{1, {}}}});
    ASSERT_TRUE(send(fake.collector("/otlp"), both, 5s).ok());
    ASSERT_EQ(fake.requests().size(), 2U);
    EXPECT_TRUE(fake.requests()[0].starts_with("POST /otlp/v1/traces HTTP/1.1\r\n"));
    EXPECT_NE(fake.requests()[0].find("Content-Type: application/json\r\n"), std::string::npos);
    EXPECT_NE(fake.requests()[0].find("\"step 1\""), std::string::npos);
    EXPECT_TRUE(fake.requests()[1].starts_with("POST /otlp/v1/metrics HTTP/1.1\r\n"));
}

/// Prometheus, for example, receives no traces.
TEST(OtlpSend, PostsOnlyWhatTheAddressEndsWith) {
    Telemetry both = oneSpan("step 1");
    both.metrics.push_back({"pp.steps", "", "{step}", true, {{1, {}}}});
    for (const std::string& signal : {std::string("traces"), std::string("metrics")}) {
        FakeCollector fake({kOk});
        ASSERT_TRUE(send(fake.collector("/api/v1/otlp/v1/" + signal + "/"), both, 5s).ok());
        ASSERT_EQ(fake.requests().size(), 1U);
        EXPECT_TRUE(fake.requests()[0].starts_with("POST /api/v1/otlp/v1/" + signal + " HTTP/1.1\r\n"));
    }
}

TEST(OtlpSend, NamesWhatFailed) {
    const auto reason = [](const std::string& answer) {
        const FakeCollector fake({answer});
        const Status sent = send(fake.collector(), oneSpan("step"), 500ms);
        return sent.ok() ? std::string() : sent.error().message;
    };
    EXPECT_NE(reason("HTTP/1.1 404 Not Found\r\n\r\n").find("answered \"404 Not Found\""), std::string::npos);
    EXPECT_NE(reason("SSH-2.0-OpenSSH_9.2\r\n").find("does not speak HTTP"), std::string::npos);
    EXPECT_NE(reason("").find("did not answer in time"), std::string::npos);
    const std::string partial = R"({"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}})";
    const auto rejected =
        reason("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(partial.size()) + "\r\n\r\n" + partial);
    EXPECT_NE(rejected.find("rejected 3 items: too old"), std::string::npos) << rejected;
}

TEST(OtlpSend, NamesACollectorThatCannotBeReached) {
    net::Address free{"127.0.0.1", 0};
    net::Listener closed = net::Listener::open(free).value();
    closed = net::Listener();
    const Status sent = send(Collector::parse("http://" + free.text()).value(), oneSpan("step"), 60s);
    ASSERT_FALSE(sent.ok());
    EXPECT_NE(sent.error().message.find("the collector http://" + free.text() + " cannot be reached"),
              std::string::npos);
}

TEST(OtlpExporter, SendsAgainWhatWasNotTaken) {
    FakeCollector fake({"HTTP/1.1 503 Service Unavailable\r\n\r\n", kOk});
    {
        Exporter exporter(fake.collector(), 2s, 10ms);
        exporter.add(oneSpan("first"));
        exporter.add(oneSpan("second"));
        EXPECT_EQ(exporter.finish(10s), 0U);
        EXPECT_NE(exporter.takeProblem().find("503"), std::string::npos);
        EXPECT_EQ(exporter.takeProblem(), "");
    }
    ASSERT_EQ(fake.requests().size(), 3U);
    EXPECT_NE(fake.requests()[1].find("\"first\""), std::string::npos);
    EXPECT_NE(fake.requests()[2].find("\"second\""), std::string::npos);
}

/// A collector that takes connections but never answers holds nobody up.
TEST(OtlpExporter, NeverWaitsForACollector) {
    const FakeCollector silent({""});
    const auto patience = 60s; // a call that waited would take this long
    const auto begin = net::Clock::now();
    {
        Exporter exporter(silent.collector(), patience);
        for (std::size_t i = 0; i < Exporter::kQueue + 10; ++i)
            exporter.add(oneSpan("step"));
        EXPECT_GE(exporter.finish(100ms), Exporter::kQueue);
        EXPECT_GE(exporter.dropped(), 9U);
    }
    EXPECT_LT(net::Clock::now() - begin, patience);
}

} // namespace
} // namespace bubblescope::otlp
