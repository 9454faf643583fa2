#include "core/live/metrics.h"

#include "core/base/visible.h"
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace bubblescope::live {
namespace {

double seconds(TimeNs time) {
    return static_cast<double>(time.count()) * 1e-9;
}

/// Escapes a label's value.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : visible(text)) {
        if (c == '\\' || c == '"') out += '\\';
        out += c;
    }
    return out;
}

class Page {
public:
    void metric(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
    }
    template <class Value>
    void value(const std::string& labels, Value value) {
        if (labels.empty())
            fmt::format_to(std::back_inserter(text_), "{} {}\n", name_, value);
        else
            fmt::format_to(std::back_inserter(text_), "{}{{{}}} {}\n", name_, labels, value);
    }
    template <class Value>
    void single(std::string_view name, std::string_view type, std::string_view help, const std::string& labels,
                Value held) {
        metric(name, type, help);
        value(labels, held);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
    std::string name_;
};

std::string labelsOf(const LiveRank& rank) {
    return fmt::format("rank=\"{}\",dp=\"{}\"", rank.rank.value, rank.replica);
}

void addSteps(Page& page, const LiveAnalyzer& analyzer) {
    const LiveCounts counts = analyzer.counts();
    page.single("pp_steps_total", "counter", "Completed steps.", "", counts.steps);
    page.single("pp_steps_incomplete_total", "counter", "Steps with missing records.", "", counts.incomplete);
    const auto& steps = analyzer.steps();
    const auto last = std::find_if(steps.rbegin(), steps.rend(), [](const LiveStep& step) { return step.complete; });
    if (last == steps.rend()) return;
    const std::string schedule = fmt::format("schedule=\"{}\"", escaped(analyzer.info()->schedule));
    page.single("pp_step_seconds", "gauge", "Duration of the last complete step.", schedule, seconds(last->wall));
    page.single("pp_step", "gauge", "Number of the last complete step.", schedule, last->index);
    page.single("pp_bubble_ratio", "gauge",
                "Idle time as a share of the makespan in the last complete step, mean over ranks.", schedule,
                last->bubble_rate);
    if (last->expected_rate) {
        page.single("pp_bubble_ratio_expected", "gauge", "Bubble rate by the schedule's closed form.", schedule,
                    *last->expected_rate);
    }
    if (last->values.loss)
        page.single("pp_loss", "gauge", "Loss of the last complete step, as reported by the framework.", schedule,
                    *last->values.loss);
    if (last->values.tokens)
        page.single("pp_step_tokens", "gauge", "Tokens in the last complete step.", schedule, *last->values.tokens);
    if (const std::optional<ModelUse> use = analyzer.use())
        page.single("pp_mfu_ratio", "gauge", "Model FLOPs as a share of the devices' peak in the last complete step.",
                    schedule, use->of(last->wall));
    page.metric("pp_bubble_cause_seconds", "gauge", "Idle time by cause in the last complete step, summed over ranks.");
    for (std::size_t cause = 0; cause < kCauseCount; ++cause) {
        page.value(fmt::format("cause=\"{}\"", causeKey(static_cast<Cause>(cause))), seconds(last->causes[cause]));
    }
}

void addRanks(Page& page, const LiveAnalyzer& analyzer) {
    const auto each = [&](std::string_view name, std::string_view type, std::string_view help, const auto& value) {
        page.metric(name, type, help);
        for (const LiveRank& rank : analyzer.ranks())
            page.value(labelsOf(rank), value(rank));
    };
    each("pp_rank_up", "gauge", "1 if the rank sends records and is not late, gone or ended.",
         [](const LiveRank& rank) { return rank.state == RankState::Running ? 1 : 0; });
    each("pp_rank_gone", "gauge", "1 if the process died before finishing.",
         [](const LiveRank& rank) { return rank.state == RankState::Gone ? 1 : 0; });
    each("pp_rank_step", "gauge", "Last step with a received op.", [](const LiveRank& rank) { return rank.step; });
    each("pp_busy_seconds_total", "counter", "Time in ops, summed over complete steps.",
         [](const LiveRank& rank) { return seconds(rank.busy); });
    each("pp_bubble_seconds_total", "counter", "Time in bubbles, summed over complete steps.",
         [](const LiveRank& rank) { return seconds(rank.bubble); });
}

void addFindings(Page& page, const LiveAnalyzer& analyzer) {
    std::map<std::string_view, int> kinds;
    for (const AnomalyKindInfo& kind : anomalyKinds())
        kinds[kind.name] = 0;
    for (const LoggedFinding& anomaly : analyzer.anomalies())
        ++kinds[anomalyKindName(anomaly.anomaly.kind)];
    page.metric("pp_anomalies", "gauge", "Anomalies currently present.");
    for (const auto& [kind, count] : kinds)
        page.value(fmt::format("kind=\"{}\"", kind), count);
    const CheckCounts& checks = analyzer.checks();
    page.metric("pp_replay_checks_total", "counter", "A/A checks by result.");
    page.value("outcome=\"equal\"", checks.equal);
    page.value("outcome=\"mismatch\"", checks.mismatch);
    page.value("outcome=\"aborted\"", checks.aborted);
    page.value("outcome=\"skipped\"", checks.skipped);
    page.single("pp_replay_mismatch_total", "counter", "A/A checks with a mismatch.", "", checks.mismatch);
    page.single("pp_replay_seconds_total", "counter", "Time in A/A checks.", "", seconds(checks.time));
    if (const auto coverage = checks.coverage())
        page.single("pp_replay_coverage_ratio", "gauge", "Ratio of completed checks to planned checks.", "", *coverage);
}

void addCapture(Page& page, const LiveAnalyzer& analyzer) {
    const LiveCounts counts = analyzer.counts();
    page.single("pp_capture_records_total", "counter", "Received slices.", "", counts.slices);
    page.single("pp_capture_bytes_total", "counter", "Received bytes.", "", counts.bytes);
    page.metric("pp_capture_dropped_records_total", "counter", "Records that do not belong to any step, by reason.");
    page.value("reason=\"ring\"", counts.dropped);
    page.value("reason=\"unheard\"", counts.undelivered);
    page.value("reason=\"damaged\"", counts.damaged);
    page.value("reason=\"late\"", counts.late);
    page.value("reason=\"bad\"", counts.bad);
    page.value("reason=\"duplicate\"", counts.duplicates);
    page.single("pp_capture_torn_total", "counter", "Damaged parts of streams.", "", counts.torn);
    const Latency& latency = analyzer.latency();
    if (latency.count() == 0) return;
    page.metric("pp_capture_latency_seconds", "gauge", "Delay from the end of an op to its arrival.");
    page.value("quantile=\"0.5\"", seconds(latency.quantile(0.5)));
    page.value("quantile=\"0.99\"", seconds(latency.quantile(0.99)));
    page.value("quantile=\"1\"", seconds(latency.longest()));
}

} // namespace

std::string exposition(const LiveAnalyzer& analyzer) {
    Page page;
    addSteps(page, analyzer);
    addRanks(page, analyzer);
    addFindings(page, analyzer);
    addCapture(page, analyzer);
    return page.take();
}

namespace {

constexpr std::size_t kMaxConnections = 64;
constexpr std::size_t kLongestRequest = 1 << 13;
constexpr std::chrono::seconds kPatience{10};

std::string answerTo(std::string_view request, const std::function<std::string()>& page) {
    const auto answer = [](std::string_view status, std::string_view type, const std::string& body) {
        return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                           status, type, body.size(), body);
    };
    const std::string_view line = request.substr(0, request.find("\r\n"));
    if (!line.starts_with("GET ")) return answer("405 Method Not Allowed", "text/plain", "only GET is served\n");
    const std::string_view target = line.substr(4, line.find_first_of(" ?", 4) - 4);
    if (target != "/metrics" && target != "/") return answer("404 Not Found", "text/plain", "see /metrics\n");
    return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", page());
}

} // namespace

Result<MetricsEndpoint> MetricsEndpoint::open(net::Address address) {
    MetricsEndpoint endpoint;
    BUBBLESCOPE_ASSIGN(endpoint.listener_, net::Listener::open(address));
    endpoint.address_ = std::move(address);
    endpoint.events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    if (!endpoint.events_.isOpen() ||
        ::epoll_ctl(endpoint.events_.get(), EPOLL_CTL_ADD, endpoint.listener_.descriptor(), &event) != 0) {
        return runError("cannot watch the metrics socket");
    }
    return endpoint;
}

void MetricsEndpoint::serve(const std::function<std::string()>& page, Clock::time_point now) {
    take(now);
    std::string made; // created once for all current requests
    const auto once = [&] {
        if (made.empty()) made = page();
        return made;
    };
    for (auto at = connections_.begin(); at != connections_.end();) {
        advance(*at, once);
        const bool ends = at->done || now - at->since > kPatience;
        at = ends ? connections_.erase(at) : std::next(at);
    }
}

void MetricsEndpoint::take(Clock::time_point now) {
    while (connections_.size() < kMaxConnections) {
        net::Socket socket = listener_.accept();
        if (!socket.isOpen()) return;
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLET;
        ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket.descriptor(), &event);
        connections_.push_back({std::move(socket), {}, {}, 0, now, false});
    }
    // The oldest connection has had enough time; the next call accepts the waiting connections.
    connections_.front().done = true;
}

void MetricsEndpoint::advance(Connection& connection, const std::function<std::string()>& page) {
    std::array<char, 2048> buffer{};
    while (connection.answer.empty() && !connection.done) {
        const net::Socket::Progress progress = connection.socket.readSome(buffer.data(), buffer.size());
        connection.done = progress.ended;
        if (progress.bytes == 0) return;
        connection.request.append(buffer.data(), progress.bytes);
        if (connection.request.find("\r\n\r\n") != std::string::npos)
            connection.answer = answerTo(connection.request, page);
        connection.done = connection.answer.empty() && connection.request.size() > kLongestRequest;
    }
    while (!connection.done) {
        const std::string_view rest = std::string_view(connection.answer).substr(connection.sent);
        const net::Socket::Progress progress = connection.socket.writeSome(rest);
        if (progress.bytes == 0 && !progress.ended) return;
        connection.sent += progress.bytes;
        connection.done = progress.ended || connection.sent == connection.answer.size();
    }
}

} // namespace bubblescope::live
