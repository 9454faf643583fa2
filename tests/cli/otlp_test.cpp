#include "tests/cli/program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace bubblescope::test {
namespace {

using testing::HasSubstr;

std::string simulated(const ScratchFolder& scratch) {
    const std::string trace = scratch.file("run.pftrace");
    EXPECT_EQ(runProgram({"simulate", "--schedule", "1f1b", "--pp", "4", "--microbatches", "8", "--forward", "4ms",
                          "--backward", "8ms", "--out", trace})
                  .exit_code,
              0);
    return trace;
}

/// tests/outside/otlp/receiver.py, in a Python that has OpenTelemetry's protobuf classes.
class Receiver {
public:
    Receiver(const std::string& python, const ScratchFolder& scratch) : requests_(scratch.file("requests")) {
        const std::string port = scratch.file("port");
        const std::string script = BUBBLESCOPE_OTLP_RECEIVER;
        const std::string folder = std::filesystem::path(port).parent_path().string();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::execlp(python.c_str(), python.c_str(), script.c_str(), folder.c_str(), nullptr);
            ::_exit(127);
        }
        for (int i = 0; i < 200 && !std::filesystem::exists(port); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::ifstream(port) >> port_;
    }
    ~Receiver() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port_; }
    [[nodiscard]] std::vector<nlohmann::json> requests() const {
        std::vector<nlohmann::json> all;
        std::ifstream file(requests_);
        for (std::string line; std::getline(file, line);)
            all.push_back(nlohmann::json::parse(line));
        return all;
    }

private:
    std::string requests_;
    std::string port_;
    pid_t pid_ = 0;
};

/// A metric's value at its first point, as the receiver understood it.
double metricOf(const nlohmann::json& request, const std::string& name) {
    for (const auto& metric : request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]) {
        if (metric["name"] != name) continue;
        const auto& data = metric.contains("sum") ? metric["sum"] : metric["gauge"];
        return data["dataPoints"][0].value("asDouble", 0.0);
    }
    ADD_FAILURE() << "no metric " << name;
    return 0;
}

TEST(Otlp, HeadersComeFromTheEnvironment) {
    const ScratchFolder scratch;
    const std::string trace = simulated(scratch);
    ::setenv("OTEL_EXPORTER_OTLP_HEADERS", "no value", 1); // NOLINT(concurrency-mt-unsafe)
    const auto wrong = runProgram({"analyze", trace, "--otlp", "http://127.0.0.1:1"});
    ::unsetenv("OTEL_EXPORTER_OTLP_HEADERS"); // NOLINT(concurrency-mt-unsafe)
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("OTEL_EXPORTER_OTLP_HEADERS: entry 1 is not NAME=VALUE"));
}

TEST(Otlp, OpenTelemetrysClassesReadStepsAndFindings) {
    const char* const python = std::getenv("BUBBLESCOPE_OTLP_PYTHON"); // NOLINT(concurrency-mt-unsafe)
    if (python == nullptr) GTEST_SKIP() << "BUBBLESCOPE_OTLP_PYTHON names no Python with opentelemetry-proto";
    const ScratchFolder scratch;
    const Receiver receiver(python, scratch);
    const std::string trace = simulated(scratch);
    const auto result = runProgram({"analyze", trace, "--otlp", receiver.url(), "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto requests = receiver.requests();
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0]["signal"], "/v1/traces");
    const auto spans = requests[0]["request"]["resourceSpans"][0]["scopeSpans"][0]["spans"];
    ASSERT_EQ(spans[0]["name"], "step 0");
    // 1F1B: (m + p - 1) · 12 ms.
    EXPECT_EQ(std::stoll(spans[0]["endTimeUnixNano"].get<std::string>()) -
                  std::stoll(spans[0]["startTimeUnixNano"].get<std::string>()),
              132'000'000);
    std::map<std::string, int> names;
    for (const auto& span : spans) {
        ++names[span["name"]];
        EXPECT_EQ(span.value("parentSpanId", ""), span == spans[0] ? "" : spans[0]["spanId"].get<std::string>());
        EXPECT_EQ(span["traceId"], spans[0]["traceId"]);
    }
    for (const char* const rank : {"rank 0", "rank 1", "rank 2", "rank 3"})
        EXPECT_EQ(names[rank], 1);
    EXPECT_EQ(spans.size(), 5 + result.json()["anomalies"].size());
    EXPECT_EQ(requests[1]["signal"], "/v1/metrics");
    EXPECT_NEAR(metricOf(requests[1]["request"], "pp.step.duration"), 0.132, 1e-9);
    EXPECT_NEAR(metricOf(requests[1]["request"], "pp.bubble.ratio"), 36.0 / 132, 1e-9);
    EXPECT_EQ(metricOf(requests[1]["request"], "pp.steps"), 1);
}

/// Sends to real receivers, and reads through their own API what they stored.
TEST(OtlpOutside, ServersStoreStepsAndFindings) {
    const char* const servers = std::getenv("BUBBLESCOPE_OTLP_SERVERS"); // NOLINT(concurrency-mt-unsafe)
    if (servers == nullptr) GTEST_SKIP() << "BUBBLESCOPE_OTLP_SERVERS names no receivers, such as mlflow=PYTHON";
    const std::string script = (std::filesystem::path(BUBBLESCOPE_OTLP_RECEIVER).parent_path() / "servers.py").string();
    std::istringstream list(servers);
    for (std::string each; list >> each;) {
        const ScratchFolder scratch;
        const std::size_t equals = each.find('=');
        ASSERT_NE(equals, std::string::npos) << each << " is not NAME=EXECUTABLE";
        const std::string command = fmt::format("python3 '{}' '{}' '{}' '{}' >'{}' 2>&1", script, BUBBLESCOPE_PROGRAM,
                                                each.substr(0, equals), each.substr(equals + 1), scratch.file("log"));
        EXPECT_EQ(std::system(command.c_str()), 0) // NOLINT(concurrency-mt-unsafe)
            << each << ": " << readAll(scratch.file("log"));
    }
}

TEST(Otlp, NamesACollectorThatCannotBeReachedAfterTheReport) {
    const ScratchFolder scratch;
    const std::string trace = simulated(scratch);
    const auto result = runProgram({"analyze", trace, "--otlp", "http://127.0.0.1:1"});
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.out, HasSubstr("132"));
    EXPECT_THAT(result.err, HasSubstr("the collector http://127.0.0.1:1 cannot be reached"));
    const auto wrong = runProgram({"analyze", trace, "--otlp", "https://collector"});
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("TLS to collectors is not supported"));
}

/// The monitor goes on, and ends, without its collector.
TEST(Otlp, MonitorGoesOnWithoutItsCollector) {
    const ScratchFolder scratch;
    const std::string folder = scratch.file("run");
    ASSERT_EQ(runProgram({"run", "--schedule", "1f1b", "--backend", "cpu", "--pp", "2", "--microbatches", "2",
                          "--steps", "3", "--out", folder})
                  .exit_code,
              0);
    const auto result = runProgram({"monitor", folder, "--otlp", "http://127.0.0.1:1", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("the collector http://127.0.0.1:1 cannot be reached"));
    EXPECT_THAT(result.err, HasSubstr("did not receive"));
    const char* const python = std::getenv("BUBBLESCOPE_OTLP_PYTHON"); // NOLINT(concurrency-mt-unsafe)
    if (python == nullptr) return;
    const Receiver receiver(python, scratch);
    const auto watched = runProgram({"monitor", folder, "--otlp", receiver.url(), "--json"});
    EXPECT_EQ(watched.exit_code, 0) << watched.err;
    EXPECT_EQ(watched.err, "");
    std::size_t steps = 0;
    for (const auto& request : receiver.requests()) {
        if (request["signal"] != "/v1/traces") continue;
        for (const auto& span : request["request"]["resourceSpans"][0]["scopeSpans"][0]["spans"])
            steps += span["name"].get<std::string>().starts_with("step ") ? 1U : 0U;
    }
    EXPECT_EQ(steps, 3U);
}

} // namespace
} // namespace bubblescope::test
