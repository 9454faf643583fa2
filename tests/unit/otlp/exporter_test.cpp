#include "core/otlp/exporter.h"

#include "tests/unit/otlp/wire_message.h"

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
    static bool isWhole(const std::string& request) {
        constexpr std::string_view kLength = "\r\nContent-Length: ";
        const std::size_t body = request.find("\r\n\r\n");
        return body != std::string::npos &&
               request.size() - body - 4 >= std::stoul(request.substr(request.find(kLength) + kLength.size()));
    }
    void serve() {
        std::vector<net::Socket> open; // those that get no answer
        while (!stopped_) {
            std::error_code failed;
            net::Socket socket = listener_.accept(net::Clock::now() + 20ms, failed);
            if (!socket.isOpen()) continue;
            std::string request;
            std::array<char, 4096> part{};
            while (!isWhole(request)) {
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

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";

/// The name of the first span, or metric, in a request.
std::string nameIn(const std::string& request, int field) {
    const WireMessage body(request.substr(request.find("\r\n\r\n") + 4));
    return body.message(1).message(2).message(2).text(field);
}
std::string spanIn(const std::string& request) {
    return nameIn(request, 5);
}
std::string metricIn(const std::string& request) {
    return nameIn(request, 1);
}

Telemetry spanAndMetric(const std::string& name) {
    Telemetry both = oneSpan(name);
    both.metrics.push_back({"pp.steps", "", "{step}", true, {{1, {}}}});
    return both;
}

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
    ASSERT_TRUE(send(fake.collector("/otlp"), spanAndMetric("step 1"), 5s).ok());
    ASSERT_EQ(fake.requests().size(), 2U);
    EXPECT_TRUE(fake.requests()[0].starts_with("POST /otlp/v1/traces HTTP/1.1\r\n"));
    EXPECT_NE(fake.requests()[0].find("\r\nContent-Type: application/x-protobuf\r\n"), std::string::npos);
    EXPECT_EQ(spanIn(fake.requests()[0]), "step 1");
    EXPECT_TRUE(fake.requests()[1].starts_with("POST /otlp/v1/metrics HTTP/1.1\r\n"));
    EXPECT_EQ(metricIn(fake.requests()[1]), "pp.steps");
}

/// Prometheus, for example, receives no traces.
TEST(OtlpSend, PostsOnlyWhatTheAddressEndsWith) {
    for (const std::string& signal : {std::string("traces"), std::string("metrics")}) {
        FakeCollector fake({kOk});
        ASSERT_TRUE(send(fake.collector("/api/v1/otlp/v1/" + signal + "/"), spanAndMetric("step 1"), 5s).ok());
        ASSERT_EQ(fake.requests().size(), 1U);
        EXPECT_TRUE(fake.requests()[0].starts_with("POST /api/v1/otlp/v1/" + signal + " HTTP/1.1\r\n"));
    }
}

TEST(OtlpSend, NamesWhatFailed) {
    const auto reason = [](const std::string& answer) {
        const FakeCollector fake({answer});
        const auto sent = send(fake.collector(), oneSpan("step"), 500ms);
        return sent.ok() ? std::string() : sent.error().message;
    };
    EXPECT_NE(reason("HTTP/1.1 404 Not Found\r\n\r\n").find("answered \"404 Not Found\""), std::string::npos);
    EXPECT_NE(reason("SSH-2.0-OpenSSH_9.2\r\n").find("does not speak HTTP"), std::string::npos);
    EXPECT_NE(reason("").find("did not respond in time"), std::string::npos);
    EXPECT_NE(reason("HTTP/1.1 2").find("closed the connection without a reply"), std::string::npos);
}

TEST(OtlpSend, SendsMetricsAlthoughTracesAreRejected) {
    FakeCollector fake({"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", kOk});
    const auto sent = send(fake.collector(), spanAndMetric("step 1"), 5s);
    ASSERT_FALSE(sent.ok());
    EXPECT_NE(sent.error().message.find("answered \"404 Not Found\" to traces"), std::string::npos);
    EXPECT_NE(sent.error().hint.find("/v1/metrics"), std::string::npos);
    ASSERT_EQ(fake.requests().size(), 2U);
    EXPECT_EQ(metricIn(fake.requests()[1]), "pp.steps");
}

TEST(OtlpSend, RepeatsARequestOnceTheCollectorIsReady) {
    FakeCollector fake({"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\n\r\n", kOk});
    const auto begin = net::Clock::now();
    EXPECT_TRUE(send(fake.collector(), oneSpan("step 1"), 60s).ok());
    EXPECT_GE(net::Clock::now() - begin, 1s);
    ASSERT_EQ(fake.requests().size(), 2U);
    EXPECT_EQ(fake.requests()[0], fake.requests()[1]);
    // A pause beyond the deadline is not worth waiting for.
    const FakeCollector busy({"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\n\r\n"});
    EXPECT_FALSE(send(busy.collector(), oneSpan("step 1"), 60s).ok());
    EXPECT_LT(net::Clock::now() - begin, 60s);
}

TEST(OtlpSend, ReturnsWarnings) {
    const FakeCollector fake({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\ncontent-type: application/json\r\n\r\n"
                              "30\r\n{\"partialSuccess\": {\"errorMessage\": \"old keys\"}}\r\n0\r\n\r\n"});
    const auto sent = send(fake.collector(), oneSpan("step 1"), 5s);
    ASSERT_TRUE(sent.ok());
    ASSERT_EQ(sent.value().size(), 1U);
    EXPECT_NE(sent.value()[0].find("accepted the data with a warning: old keys"), std::string::npos);
}

TEST(OtlpSend, NamesACollectorThatCannotBeReached) {
    net::Address free{"127.0.0.1", 0};
    net::Listener closed = net::Listener::open(free).value();
    closed = net::Listener();
    const auto sent = send(Collector::parse("http://" + free.text()).value(), oneSpan("step"), 60s);
    ASSERT_FALSE(sent.ok());
    EXPECT_NE(sent.error().message.find("the collector http://" + free.text() + " cannot be reached"),
              std::string::npos);
}

TEST(OtlpHeaders, AreAddedToEachRequest) {
    FakeCollector fake({kOk});
    const std::string url = fake.collector().url;
    const auto with = [&url](std::string_view headers) { return Collector::parse(url, headers); };
    ASSERT_TRUE(send(with("x-experiment=7, Authorization = Basic%20YTpi=,,").value(), oneSpan("step"), 5s).ok());
    ASSERT_EQ(fake.requests().size(), 1U);
    EXPECT_NE(fake.requests()[0].find("\r\nx-experiment: 7\r\nAuthorization: Basic YTpi=\r\n"), std::string::npos);
    for (const char* const wrong : {"secret", "=secret", "a b=secret", "ok=1,a=secret%0d%0aHost: x", "a=secret\nb",
                                    "Content-Type=secret", "%0A=secret"}) {
        const auto parsed = with(wrong);
        ASSERT_FALSE(parsed.ok()) << wrong;
        EXPECT_EQ(parsed.error().kind, ErrorKind::Usage);
        EXPECT_NE(parsed.error().message.find("OTEL_EXPORTER_OTLP_HEADERS"), std::string::npos);
        EXPECT_EQ(parsed.error().text().find("secret"), std::string::npos) << parsed.error().text();
    }
}

TEST(OtlpExporter, SendsAgainWhatWasNotTaken) {
    FakeCollector fake({kOk, "HTTP/1.1 503 Service Unavailable\r\n\r\n", kOk});
    {
        Exporter exporter(fake.collector(), 2s, 10ms);
        exporter.add(spanAndMetric("first"));
        exporter.add(oneSpan("second"));
        EXPECT_EQ(exporter.finish(10s), 0U);
        const std::vector<Error> problems = exporter.takeProblems();
        ASSERT_EQ(problems.size(), 1U);
        EXPECT_NE(problems[0].message.find("503"), std::string::npos);
        EXPECT_TRUE(exporter.takeProblems().empty());
        EXPECT_EQ(exporter.rejected(), 0U);
    }
    ASSERT_EQ(fake.requests().size(), 4U);
    EXPECT_EQ(spanIn(fake.requests()[0]), "first"); // not sent again with its metrics
    EXPECT_EQ(metricIn(fake.requests()[1]), "pp.steps");
    EXPECT_EQ(fake.requests()[1], fake.requests()[2]);
    EXPECT_EQ(spanIn(fake.requests()[3]), "second");
}

TEST(OtlpExporter, WaitsAsLongAsTheCollectorRequests) {
    FakeCollector fake({"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n\r\n", kOk});
    Exporter exporter(fake.collector(), 2s, 1ms);
    const auto begin = net::Clock::now();
    exporter.add(oneSpan("step"));
    EXPECT_EQ(exporter.finish(10s), 0U);
    EXPECT_GE(net::Clock::now() - begin, 1s);
    EXPECT_EQ(fake.requests().size(), 2U);
}

TEST(OtlpExporter, DropsWhatIsRejectedAndNamesEachReasonOnce) {
    FakeCollector fake({"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nspan 1 is odd",
                        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nspan 2 is odd",
                        "HTTP/1.1 401 Unauthorized\r\n\r\n", kOk});
    {
        Exporter exporter(fake.collector(), 2s, 10ms);
        for (const char* const name : {"first", "second", "third", "fourth"})
            exporter.add(oneSpan(name));
        EXPECT_EQ(exporter.finish(10s), 0U);
        EXPECT_EQ(exporter.rejected(), 3U);
        EXPECT_EQ(exporter.dropped(), 0U);
        const std::vector<Error> problems = exporter.takeProblems();
        ASSERT_EQ(problems.size(), 2U);
        EXPECT_NE(problems[0].message.find("span 1 is odd"), std::string::npos);
        EXPECT_NE(problems[1].message.find("401"), std::string::npos);
        EXPECT_NE(problems[1].hint.find("OTEL_EXPORTER_OTLP_HEADERS"), std::string::npos);
    }
    ASSERT_EQ(fake.requests().size(), 4U);
    EXPECT_EQ(spanIn(fake.requests()[1]), "second");
    EXPECT_EQ(spanIn(fake.requests()[3]), "fourth");
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
