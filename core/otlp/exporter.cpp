#include "core/otlp/exporter.h"

#include "core/base/text.h"
#include "core/otlp/reply.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace bubblescope::otlp {
namespace {

using net::Clock;
using std::chrono::milliseconds;

struct Request {
    Signal signal = Signal::Traces;
    std::string body;
};

std::vector<Request> requestsOf(const Collector& collector, const Telemetry& telemetry) {
    constexpr std::size_t kSpans = 1000; // per request: collectors limit its size
    std::vector<Request> requests;
    Telemetry part;
    part.version = telemetry.version;
    part.resource = telemetry.resource;
    for (std::size_t next = 0; collector.takes_traces && next < telemetry.spans.size(); next += kSpans) {
        const auto first = telemetry.spans.begin() + static_cast<std::ptrdiff_t>(next);
        const std::size_t count = std::min(kSpans, telemetry.spans.size() - next);
        part.spans.assign(first, first + static_cast<std::ptrdiff_t>(count));
        requests.push_back({Signal::Traces, tracesRequest(part)});
    }
    if (collector.takes_metrics && !telemetry.metrics.empty())
        requests.push_back({Signal::Metrics, metricsRequest(telemetry)});
    return requests;
}

/// True once the descriptor is ready; false at the deadline.
bool ready(int descriptor, short events, Clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    pollfd waited{descriptor, events, 0};
    return left > 0 && ::poll(&waited, 1, static_cast<int>(left)) > 0;
}

/// A verdict without a reply.
Verdict unanswered(std::string reason) {
    Verdict made;
    made.again = true;
    made.reason = std::move(reason);
    return made;
}

/// Reads until the reply is complete, the connection ends or the deadline passes.
Verdict awaitReply(net::Socket& socket, Signal signal, Clock::time_point deadline) {
    constexpr std::size_t kLongest = std::size_t{64} << 10U;
    std::string bytes;
    std::array<char, 4096> part{};
    while (true) {
        const bool more = bytes.size() < kLongest && ready(socket.descriptor(), POLLIN, deadline);
        const auto progress = more ? socket.readSome(part.data(), part.size()) : net::Socket::Progress{};
        bytes.append(part.data(), progress.bytes);
        const bool ended = progress.ended || !more;
        if (const std::optional<Reply> reply = readReply(bytes, ended)) return judge(*reply, signal, utcNow());
        if (ended) return unanswered(more ? "closed the connection without a reply" : "did not respond in time");
    }
}

Verdict post(const Collector& collector, const Request& request, Clock::time_point deadline) {
    net::Connector connector(collector.address, std::chrono::seconds(3));
    if (connector.wait(deadline) != net::Connector::Stage::Connected)
        return unanswered(fmt::format("cannot be reached: {}",
                                      connector.reason().empty() ? "it is not responding" : connector.reason()));
    net::Socket socket = connector.take();
    const std::string head =
        fmt::format("POST {}/v1/{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: bubblescope\r\n"
                    "Content-Type: application/x-protobuf\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n",
                    collector.path, request.signal == Signal::Traces ? "traces" : "metrics", collector.address.text(),
                    request.body.size(), collector.headers);
    // A collector may reply with an error and close the connection before it has read everything.
    if (socket.write(head + request.body, deadline) == net::Socket::Outcome::TimedOut)
        return unanswered("does not read the data sent to it");
    return awaitReply(socket, request.signal, deadline);
}

Error problem(const Collector& collector, const Verdict& verdict) {
    std::string_view hint;
    if (verdict.code == 0)
        hint = "check that it receives OTLP over HTTP there, usually at port 4318";
    else if (collector.takes_traces && collector.takes_metrics && (verdict.code == 404 || verdict.code == 405))
        hint = "check the path; end it with /v1/traces or /v1/metrics if the collector receives only these";
    else if (verdict.code / 100 == 4 && !verdict.again)
        hint = "check the path, and the headers in OTEL_EXPORTER_OTLP_HEADERS";
    return runError(fmt::format("the collector {} {}", collector.url, verdict.reason), std::string(hint));
}

/// Removes the ending from the path, if it is there.
bool endedWith(std::string& path, std::string_view ending) {
    if (!path.ends_with(ending)) return false;
    path.resize(path.size() - ending.size());
    return true;
}

/// Decodes "%20" and the like.
std::string urlDecoded(std::string_view text) {
    std::string decoded;
    while (!text.empty()) {
        const bool escape = text.front() == '%' && text.size() >= 3;
        const auto byte = escape ? parseNumber<std::uint8_t>(text.substr(1, 2), 16) : std::nullopt;
        decoded += byte ? static_cast<char>(*byte) : text.front();
        text.remove_prefix(byte ? 3 : 1);
    }
    return decoded;
}

bool isHeaderName(std::string_view name) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return !name.empty() && std::ranges::all_of(name, [&](char c) {
        return isDigit(c) || (lowerCase(c) >= 'a' && lowerCase(c) <= 'z') || kMarks.find(c) != std::string_view::npos;
    });
}

Result<std::string> headerLines(std::string_view headers) {
    constexpr std::array<std::string_view, 5> kOwn{"connection", "content-length", "content-type", "host",
                                                   "transfer-encoding"};
    constexpr std::string_view kVariable = "OTEL_EXPORTER_OTLP_HEADERS";
    std::string lines;
    for (int number = 1; !headers.empty(); ++number) {
        const std::string_view entry = headers.substr(0, headers.find(','));
        headers.remove_prefix(std::min(entry.size() + 1, headers.size()));
        if (trimmed(entry).empty()) continue;
        const std::size_t equals = entry.find('=');
        const std::string name = urlDecoded(trimmed(entry.substr(0, equals)));
        const std::string value = equals == std::string_view::npos ? "" : urlDecoded(trimmed(entry.substr(equals + 1)));
        if (equals == std::string_view::npos || !isHeaderName(name) ||
            std::ranges::any_of(value, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }))
            return usageError(fmt::format("{}: entry {} is not NAME=VALUE", kVariable, number),
                              "separate entries with commas, and write special characters as in URLs, such as %2C");
        if (std::ranges::find(kOwn, lowerCase(std::string_view(name))) != kOwn.end())
            return usageError(fmt::format("{}: {} cannot be set", kVariable, name), "remove this entry");
        lines += fmt::format("{}: {}\r\n", name, value);
    }
    return lines;
}

} // namespace

Result<Collector> Collector::parse(std::string_view url, std::string_view headers) {
    Collector made;
    made.url = std::string(url);
    std::string_view rest = url;
    if (rest.starts_with("https://"))
        return usageError(fmt::format("{}: TLS to collectors is not supported", url),
                          "specify the http:// address of a collector on this host that forwards over TLS");
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
    BUBBLESCOPE_ASSIGN(made.headers, headerLines(headers));
    return made;
}

Result<std::vector<std::string>> send(const Collector& collector, const Telemetry& telemetry, milliseconds patience) {
    const Clock::time_point deadline = Clock::now() + patience;
    std::vector<std::string> warnings;
    std::optional<Error> failed;
    for (const Request& request : requestsOf(collector, telemetry)) {
        Verdict verdict = post(collector, request, deadline);
        while (verdict.again && verdict.code != 0) {
            const auto pause = verdict.pause.value_or(std::chrono::seconds(1));
            if (Clock::now() + pause >= deadline) break;
            std::this_thread::sleep_for(pause);
            verdict = post(collector, request, deadline);
        }
        const Error error = problem(collector, verdict);
        if (verdict.taken && !verdict.reason.empty()) warnings.push_back(error.message);
        if (verdict.taken) continue;
        if (verdict.code == 0) return error; // which would also happen to the other requests
        if (!failed) failed = error;
    }
    if (failed) return *failed;
    return warnings;
}

struct Exporter::State {
    Collector collector;
    milliseconds patience;
    milliseconds pause;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Telemetry> waiting;
    std::vector<Error> problems;
    std::set<std::string> named; ///< kinds of problems so far
    std::size_t dropped = 0;
    std::size_t rejected = 0;
    bool sending = false;
    bool stopped = false;
    bool left = false; ///< the thread has ended

    void note(const Verdict& verdict, Signal signal) {
        if (verdict.reason.empty()) return;
        const std::string kind =
            verdict.code == 0 ? verdict.reason : fmt::format("{} {}", static_cast<int>(signal), verdict.code);
        if (named.insert(kind).second) problems.push_back(problem(collector, verdict));
    }

    /// Sends these requests one after the other, each until the collector has accepted or rejected it. `lock` is
    /// released while waiting.
    void deliver(const std::vector<Request>& requests, std::unique_lock<std::mutex>& lock) {
        milliseconds next_pause = pause;
        bool refused = false;
        for (std::size_t i = 0; i < requests.size() && !stopped;) {
            lock.unlock();
            const Verdict verdict = post(collector, requests[i], Clock::now() + patience);
            lock.lock();
            note(verdict, requests[i].signal);
            if (verdict.again) {
                changed.wait_for(lock,
                                 std::max<milliseconds>(next_pause, verdict.pause.value_or(std::chrono::seconds(0))),
                                 [this] { return stopped; });
                next_pause = std::min(2 * next_pause, 32 * pause);
                continue;
            }
            refused = refused || !verdict.taken;
            next_pause = pause;
            ++i;
        }
        rejected += refused ? 1 : 0;
    }
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

std::vector<Error> Exporter::takeProblems() {
    const std::scoped_lock lock(state_->mutex);
    return std::exchange(state_->problems, {});
}

std::size_t Exporter::dropped() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->dropped;
}

std::size_t Exporter::rejected() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->rejected;
}

std::size_t Exporter::finish(milliseconds longest) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, longest, [&] { return state_->waiting.empty() && !state_->sending; });
    return state_->waiting.size() + (state_->sending ? 1 : 0);
}

void Exporter::work(const std::shared_ptr<State>& state) {
    std::unique_lock lock(state->mutex);
    while (!state->stopped) {
        state->changed.wait(lock, [&] { return state->stopped || !state->waiting.empty(); });
        if (state->stopped) break;
        const Telemetry next = std::move(state->waiting.front());
        state->waiting.pop_front();
        state->sending = true;
        lock.unlock();
        const std::vector<Request> requests = requestsOf(state->collector, next);
        lock.lock();
        state->deliver(requests, lock);
        state->sending = false;
        state->changed.notify_all();
    }
    state->left = true;
    state->changed.notify_all();
}

} // namespace bubblescope::otlp
