#include "core/otlp/exporter.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace bubblescope::otlp {
namespace {

using net::Clock;
using std::chrono::milliseconds;

constexpr std::size_t kLongestAnswer = std::size_t{64} << 10U;

Error failure(const Collector& collector, std::string_view reason) {
    return runError(fmt::format("the collector {} {}", collector.url, reason),
                    "check that it receives OTLP over HTTP there");
}

/// True once the descriptor is ready; false at the deadline.
bool ready(int descriptor, short events, Clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    pollfd waited{descriptor, events, 0};
    return left > 0 && ::poll(&waited, 1, static_cast<int>(left)) > 0;
}

/// The length of the body according to the header; none if it ends with the connection.
std::optional<std::size_t> contentLength(std::string_view header) {
    std::string lower(header);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    constexpr std::string_view kName = "\r\ncontent-length:";
    const std::size_t at = lower.find(kName);
    if (at == std::string::npos) return {};
    return std::strtoull(lower.c_str() + at + kName.size(), nullptr, 10);
}

bool isWhole(std::string_view answer) {
    const std::size_t body = answer.find("\r\n\r\n");
    if (body == std::string_view::npos) return false;
    const std::optional<std::size_t> length = contentLength(answer.substr(0, body + 2));
    return length && answer.size() - body - 4 >= *length;
}

/// Reads until the answer is complete, the connection ends or the deadline passes.
std::string readAnswer(net::Socket& socket, Clock::time_point deadline) {
    std::string answer;
    std::array<char, 4096> part{};
    while (answer.size() < kLongestAnswer && !isWhole(answer) && ready(socket.descriptor(), POLLIN, deadline)) {
        const net::Socket::Progress progress = socket.readSome(part.data(), part.size());
        answer.append(part.data(), progress.bytes);
        if (progress.ended) break;
    }
    return answer;
}

/// The collector's reason for rejecting items; empty if it accepted all of them.
std::string rejection(std::string_view body) {
    const auto document = nlohmann::json::parse(body, nullptr, false);
    if (!document.is_object() || !document.contains("partialSuccess")) return "";
    const auto& partial = document["partialSuccess"];
    for (const char* const key : {"rejectedSpans", "rejectedDataPoints"}) {
        if (!partial.is_object() || !partial.contains(key)) continue;
        const auto& number = partial[key];
        const std::string count = number.is_string() ? number.get<std::string>() : number.dump();
        if (count == "0") continue;
        const auto& message = partial.value("errorMessage", nlohmann::json(""));
        return fmt::format("rejected {} items: {}", count, message.is_string() ? message.get<std::string>() : "");
    }
    return "";
}

/// Removes the ending from the path, if it is there.
bool endedWith(std::string& path, std::string_view ending) {
    if (!path.ends_with(ending)) return false;
    path.resize(path.size() - ending.size());
    return true;
}

Status judge(const Collector& collector, std::string_view answer) {
    const std::size_t line = answer.find("\r\n");
    if (!answer.starts_with("HTTP/1.") || line == std::string_view::npos || line < 12)
        return failure(collector, answer.empty() ? "did not answer in time" : "does not speak HTTP");
    const std::string_view status = answer.substr(9, line - 9);
    if (status.front() != '2') return failure(collector, fmt::format("answered \"{}\"", status));
    const std::size_t body = answer.find("\r\n\r\n");
    if (body == std::string_view::npos) return {};
    const std::string rejected = rejection(answer.substr(body + 4));
    if (rejected.empty()) return {};
    return failure(collector, rejected);
}

Status post(const Collector& collector, std::string_view signal, const std::string& body, Clock::time_point deadline) {
    net::Connector connector(collector.address, std::chrono::seconds(3));
    const net::Connector::Stage stage = connector.wait(deadline);
    if (stage != net::Connector::Stage::Connected)
        return failure(collector, fmt::format("cannot be reached: {}",
                                              connector.reason().empty() ? "it does not answer" : connector.reason()));
    net::Socket socket = connector.take();
    const std::string request =
        fmt::format("POST {}/v1/{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: bubblescope\r\n"
                    "Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                    collector.path, signal, collector.address.text(), body.size(), body);
    // A collector may reply with an error and close the connection before it has read everything.
    const auto sent = socket.write(request, deadline);
    if (sent == net::Socket::Outcome::TimedOut) return failure(collector, "does not read the data sent to it");
    return judge(collector, readAnswer(socket, deadline));
}

} // namespace

Result<Collector> Collector::parse(std::string_view url) {
    Collector made;
    made.url = std::string(url);
    std::string_view rest = url;
    if (rest.starts_with("https://"))
        return usageError(fmt::format("{}: TLS to collectors is not supported", url),
                          "specify the http:// address of a collector on this host, which forwards with TLS");
    if (rest.starts_with("http://")) rest.remove_prefix(7);
    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos) {
        made.path = std::string(rest.substr(slash));
        while (made.path.ends_with('/'))
            made.path.pop_back();
        made.takes_metrics = !endedWith(made.path, "/v1/traces");
        made.takes_traces = !endedWith(made.path, "/v1/metrics");
        rest = rest.substr(0, slash);
    }
    const bool blank = std::ranges::any_of(url, [](char c) { return c <= ' '; });
    const std::size_t colon = rest.rfind(':');
    const bool port = colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos;
    if (rest.empty() || blank || colon == 0)
        return usageError(fmt::format("'{}' is not the address of a collector", url), "such as http://localhost:4318");
    BUBBLESCOPE_ASSIGN(made.address, net::parseAddress(port ? std::string(rest) : fmt::format("{}:4318", rest)));
    if (made.address.port == 0)
        return usageError(fmt::format("'{}' has no valid port", url), "such as http://localhost:4318");
    return made;
}

Status send(const Collector& collector, const Telemetry& telemetry, milliseconds patience) {
    constexpr std::size_t kSpans = 1000; // per request: collectors limit its size
    const Clock::time_point deadline = Clock::now() + patience;
    Telemetry part;
    part.version = telemetry.version;
    part.resource = telemetry.resource;
    for (std::size_t next = 0; collector.takes_traces && next < telemetry.spans.size(); next += kSpans) {
        const auto first = telemetry.spans.begin() + static_cast<std::ptrdiff_t>(next);
        const std::size_t count = std::min(kSpans, telemetry.spans.size() - next);
        part.spans.assign(first, first + static_cast<std::ptrdiff_t>(count));
        BUBBLESCOPE_TRY(post(collector, "traces", tracesJson(part), deadline));
    }
    if (collector.takes_metrics && !telemetry.metrics.empty())
        BUBBLESCOPE_TRY(post(collector, "metrics", metricsJson(telemetry), deadline));
    return {};
}

struct Exporter::State {
    Collector collector;
    milliseconds patience;
    milliseconds pause;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Telemetry> waiting;
    std::string problem;
    std::size_t dropped = 0;
    bool sending = false;
    bool stopped = false;
    bool left = false; ///< the thread has ended
};

Exporter::Exporter(Collector collector, milliseconds patience, milliseconds pause) : state_(std::make_shared<State>()) {
    state_->collector = std::move(collector);
    state_->patience = patience;
    state_->pause = pause;
    thread_ = std::thread([state = state_] { work(state); });
}

Exporter::~Exporter() {
    bool left = false;
    {
        std::unique_lock lock(state_->mutex);
        state_->stopped = true;
        state_->changed.notify_all();
        left = state_->changed.wait_for(lock, milliseconds(50), [&] { return state_->left; });
    }
    // An attempt in progress must not delay the exit of the program.
    if (left)
        thread_.join();
    else
        thread_.detach();
}

void Exporter::add(Telemetry telemetry) {
    const std::scoped_lock lock(state_->mutex);
    state_->waiting.push_back(std::move(telemetry));
    if (state_->waiting.size() > kQueue) {
        state_->waiting.pop_front();
        ++state_->dropped;
    }
    state_->changed.notify_all();
}

std::string Exporter::takeProblem() {
    const std::scoped_lock lock(state_->mutex);
    return std::exchange(state_->problem, {});
}

std::size_t Exporter::dropped() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->dropped;
}

std::size_t Exporter::finish(milliseconds longest) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, longest, [&] { return state_->waiting.empty() && !state_->sending; });
    return state_->waiting.size() + (state_->sending ? 1 : 0);
}

void Exporter::work(const std::shared_ptr<State>& state) {
    std::unique_lock lock(state->mutex);
    milliseconds pause = state->pause;
    while (!state->stopped) {
        state->changed.wait(lock, [&] { return state->stopped || !state->waiting.empty(); });
        if (state->stopped) break;
        Telemetry next = std::move(state->waiting.front());
        state->waiting.pop_front();
        state->sending = true;
        lock.unlock();
        const Status sent = send(state->collector, next, state->patience);
        lock.lock();
        state->sending = false;
        if (sent.ok()) {
            pause = state->pause;
        } else {
            state->problem = sent.error().message;
            state->waiting.push_front(std::move(next));
            const auto stopped = [&] { return state->stopped; };
            state->changed.wait_for(lock, pause, stopped);
            pause = std::min(2 * pause, 32 * state->pause);
        }
        state->changed.notify_all();
    }
    state->left = true;
    state->changed.notify_all();
}

} // namespace bubblescope::otlp
