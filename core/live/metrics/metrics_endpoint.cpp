#include "core/live/metrics/metrics_endpoint.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <array>
#include <string_view>
#include <utility>

namespace bubblescope::live {
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
        return runError("the metrics' socket cannot be watched");
    }
    return endpoint;
}

void MetricsEndpoint::serve(const std::function<std::string()>& page, Clock::time_point now) {
    take(now);
    for (auto at = connections_.begin(); at != connections_.end();) {
        goOn(*at, page);
        const bool ends = at->over || now - at->since > kPatience;
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
    // The oldest has had its time; the next call accepts those that wait.
    connections_.front().over = true;
}

void MetricsEndpoint::goOn(Connection& connection, const std::function<std::string()>& page) {
    std::array<char, 2048> buffer{};
    while (connection.answer.empty() && !connection.over) {
        const net::Socket::Progress progress = connection.socket.readSome(buffer.data(), buffer.size());
        connection.over = progress.over;
        if (progress.bytes == 0) return;
        connection.request.append(buffer.data(), progress.bytes);
        if (connection.request.find("\r\n\r\n") != std::string::npos)
            connection.answer = answerTo(connection.request, page);
        connection.over = connection.answer.empty() && connection.request.size() > kLongestRequest;
    }
    while (!connection.over) {
        const std::string_view rest = std::string_view(connection.answer).substr(connection.sent);
        const net::Socket::Progress progress = connection.socket.writeSome(rest);
        if (progress.bytes == 0 && !progress.over) return;
        connection.sent += progress.bytes;
        connection.over = progress.over || connection.sent == connection.answer.size();
    }
}

} // namespace bubblescope::live
