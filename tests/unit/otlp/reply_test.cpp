#include "core/otlp/reply.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include <functional>
#include <string>

namespace bubblescope::otlp {
namespace {

using namespace std::chrono_literals;

std::string message(const std::function<void(protozero::pbf_writer&)>& fill) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    fill(writer);
    return bytes;
}

/// An ExportTraceServiceResponse, or that of metrics.
std::string partialSuccess(std::int64_t rejected, const std::string& reason) {
    const std::string partial = message([&](protozero::pbf_writer& to) {
        to.add_int64(1, rejected);
        to.add_string(2, reason);
    });
    return message([&](protozero::pbf_writer& to) { to.add_message(1, partial); });
}

std::string http(const std::string& status, const std::string& type, const std::string& body) {
    return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", status, type, body.size(),
                       body);
}

constexpr const char* kProtobuf = "application/x-protobuf";

Verdict verdictOn(const std::string& bytes, Signal signal = Signal::Traces, TimeNs now = TimeNs{0}) {
    const std::optional<Reply> reply = readReply(bytes, true);
    EXPECT_TRUE(reply.has_value()) << bytes;
    return reply ? judge(*reply, signal, now) : Verdict{};
}

TEST(OtlpReply, IsCompleteWithItsBody) {
    const std::string whole =
        "HTTP/1.1 200 OK\r\nCONTENT-LENGTH: 2\r\ncontent-Type: Application/JSON; charset=utf-8\r\n\r\n{}";
    for (std::size_t part = 0; part < whole.size(); ++part)
        EXPECT_FALSE(readReply(whole.substr(0, part), false).has_value()) << part;
    const auto reply = readReply(whole + "more", false);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->code, 200);
    EXPECT_EQ(reply->status, "200 OK");
    EXPECT_EQ(reply->type, "application/json");
    EXPECT_EQ(reply->body, "{}");
    EXPECT_EQ(readReply("HTTP/1.1 204 No Content\r\n\r\n", false)->code, 204);
}

TEST(OtlpReply, EndsWithTheConnectionIfItsLengthIsUnknown) {
    const std::string open = "HTTP/1.0 503\r\nretry-after: 7\r\n\r\nbusy";
    EXPECT_FALSE(readReply(open, false).has_value());
    const auto reply = readReply(open, true);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, "503");
    EXPECT_EQ(reply->retry_after, "7");
    EXPECT_EQ(reply->body, "busy");
    EXPECT_FALSE(readReply("HTTP/1.1 200 OK\r\nContent-", true).has_value());
    EXPECT_FALSE(readReply("", true).has_value());
}

TEST(OtlpReply, JoinsChunks) {
    const std::string head = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-encoding: Chunked\r\n\r\n";
    const std::string whole = head + "4;name=value\r\n{\"a\"\r\nA\r\n: [1, 2]} \r\n0\r\nTrailer: x\r\n\r\n";
    for (std::size_t part = 0; part < whole.size(); ++part)
        EXPECT_FALSE(readReply(whole.substr(0, part), false).has_value()) << part;
    EXPECT_EQ(readReply(whole, false)->body, "{\"a\": [1, 2]} ");
    // Parts of a body could be misread.
    EXPECT_EQ(readReply(head + "ffffffffffffffff\r\nabc", true)->body, "");
    EXPECT_EQ(readReply(head + "wrong\r\nabc", false)->body, "");
    EXPECT_EQ(readReply(head + "2\r\nabc\r\n0\r\n\r\n", false)->body, "");
    EXPECT_EQ(readReply("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", true)->body, "");
}

TEST(OtlpReply, RecognisesOtherProtocols) {
    EXPECT_EQ(readReply("SSH-2.0-OpenSSH_9.2\r\n", false)->code, 0);
    EXPECT_EQ(readReply(std::string("\0\0\x06\x04\0\0\0", 7), false)->code, 0); // HTTP/2
    EXPECT_EQ(readReply("HTTP/1.1 OK\r\n\r\n", false)->code, 0);
    EXPECT_EQ(verdictOn("SSH-2.0-OpenSSH_9.2\r\n").reason, "does not speak HTTP");
}

TEST(OtlpVerdict, TakesSuccesses) {
    const std::string json = "application/json";
    const std::string without = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (const std::string& reply :
         {http("200 OK", kProtobuf, ""), http("200 OK", kProtobuf, partialSuccess(0, "")),
          http("202 Accepted", json, "{}"), http("200 OK", json, R"({"partialSuccess": {"rejectedSpans": "0"}})"),
          http("200 OK", kProtobuf, "\x0a\xff"), http("200 OK", json, R"({"partialSuccess": 3)"), without}) {
        const Verdict verdict = verdictOn(reply);
        EXPECT_TRUE(verdict.taken) << reply;
        EXPECT_EQ(verdict.reason, "") << reply;
    }
}

TEST(OtlpVerdict, NamesRejectedItems) {
    const auto reason = [](const std::string& type, const std::string& body, Signal signal) {
        const Verdict verdict = verdictOn(http("200 OK", type, body), signal);
        EXPECT_FALSE(verdict.taken) << body;
        EXPECT_FALSE(verdict.again) << body; // the specification forbids it
        return verdict.reason;
    };
    EXPECT_EQ(reason(kProtobuf, partialSuccess(3, "too old"), Signal::Traces), "rejected 3 spans: too old");
    EXPECT_EQ(reason(kProtobuf, partialSuccess(1, ""), Signal::Metrics), "rejected 1 data point");
    EXPECT_EQ(reason("application/json", R"({"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}})",
                     Signal::Traces),
              "rejected 3 spans: too old");
    EXPECT_EQ(reason("application/json", R"({"partialSuccess": {"rejectedDataPoints": 2}})", Signal::Metrics),
              "rejected 2 data points");
}

TEST(OtlpVerdict, PassesOnWarnings) {
    const Verdict verdict = verdictOn(http("200 OK", kProtobuf, partialSuccess(0, "slow\ndown")));
    EXPECT_TRUE(verdict.taken);
    EXPECT_EQ(verdict.reason, "accepted the data with a warning: slow\\ndown");
}

TEST(OtlpVerdict, ShowsTheReasonOfAnError) {
    const auto reason = [](const std::string& type, const std::string& body) {
        return verdictOn(http("400 Bad Request", type, body), Signal::Metrics).reason;
    };
    const std::string status = message([](protozero::pbf_writer& to) {
        to.add_int32(1, 3);
        to.add_string(2, "bad\x1b[31m unit");
    });
    const std::string head = "answered \"400 Bad Request\" to metrics";
    EXPECT_EQ(reason(kProtobuf, status), head + ": bad\\x1b[31m unit");
    EXPECT_EQ(reason("application/json", R"({"code": 3, "message": "bad unit"})"), head + ": bad unit");
    EXPECT_EQ(reason("application/json", R"({"detail": "Missing header"})"), head + ": Missing header");
    EXPECT_EQ(reason("application/json", R"({"errors": [1]})"), head + R"(: {"errors": [1]})");
    EXPECT_EQ(reason("text/plain; charset=utf-8", "no such tenant\n"), head + ": no such tenant");
    EXPECT_EQ(reason("text/html", "<html>"), head);
    EXPECT_EQ(reason(kProtobuf, "\x12\xff"), head);
    EXPECT_EQ(reason("text/plain", ""), head);
    const std::string longest = reason("text/plain", std::string(299, 'a') + "\xc3\xa9" + std::string(9, 'b'));
    EXPECT_EQ(longest, head + ": " + std::string(299, 'a') + "…"); // not in the middle of a letter
}

TEST(OtlpVerdict, RepeatsOnlyWhatTheSpecificationAllows) {
    for (const char* const status : {"429 Too Many Requests", "502 Bad Gateway", "503 Busy", "504 Gateway Timeout"})
        EXPECT_TRUE(verdictOn(http(status, "text/plain", "")).again) << status;
    for (const char* const status : {"301 Moved", "400 Bad Request", "401 Unauthorized", "404 Not Found", "408 Timeout",
                                     "413 Too Large", "500 Failed", "501 No", "505 No"}) {
        const Verdict verdict = verdictOn(http(status, "text/plain", ""));
        EXPECT_FALSE(verdict.again) << status;
        EXPECT_FALSE(verdict.taken) << status;
    }
}

TEST(OtlpVerdict, ReadsTheRequestedPause) {
    const auto pause = [](const std::string& value, TimeNs now = TimeNs{0}) {
        return verdictOn("HTTP/1.1 503 Busy\r\nRETRY-AFTER: " + value + "\r\nContent-Length: 0\r\n\r\n", Signal::Traces,
                         now)
            .pause;
    };
    EXPECT_EQ(pause("120"), 120s);
    EXPECT_EQ(pause("-5"), 0s);
    EXPECT_EQ(pause("9999999999999"), 24h);
    const TimeNs shortly_before = 784'111'777s - 30s; // of 1994-11-06 08:49:37 UTC
    EXPECT_EQ(pause("Sun, 06 Nov 1994 08:49:37 GMT", shortly_before), 30s);
    EXPECT_EQ(pause("Sun, 06 Nov 1994 08:49:37 GMT", shortly_before + 1h), 0s);
    EXPECT_EQ(pause("soon"), std::nullopt);
    EXPECT_EQ(pause(""), std::nullopt);
}

} // namespace
} // namespace bubblescope::otlp
