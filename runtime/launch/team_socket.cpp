#include "runtime/launch/team_socket.h"

#include <cstdint>
#include <string_view>
#include <system_error>
#include <thread>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

Status outcomeOf(net::Socket::Outcome outcome, const std::string& who, std::string_view silent) {
    switch (outcome) {
    case net::Socket::Outcome::Done: break;
    case net::Socket::Outcome::TimedOut: return runError(who + std::string(silent));
    case net::Socket::Outcome::Closed:
        return runError(who + " has closed its connection", "its process has ended: see what it printed");
    }
    return {};
}

std::optional<std::size_t> bytesOf(const net::Socket::Progress& progress) {
    return progress.ended ? std::nullopt : std::optional(progress.bytes);
}

} // namespace

Result<TeamSocket> TeamSocket::connect(const std::string& host, int port, Clock::time_point deadline) {
    constexpr auto kNap = 50ms;
    std::string why;
    do {
        net::Connector connector({host, port});
        switch (connector.wait(deadline)) {
        case net::Connector::Stage::Connected: {
            net::Socket connected = connector.take();
            connected.enableKeepAlive();
            return TeamSocket(std::move(connected));
        }
        case net::Connector::Stage::UnderWay: why = std::make_error_code(std::errc::timed_out).message(); break;
        case net::Connector::Stage::Failed: why = connector.reason(); break;
        }
        std::this_thread::sleep_for(kNap);
    } while (Clock::now() < deadline);
    return runError("rank 0 cannot be reached at " + host + ", port " + std::to_string(port) + ": " + why,
                    "see whether its process has started and whether a firewall is between the hosts; BUBBLESCOPE_PORT "
                    "chooses another port");
}

std::optional<std::size_t> TeamSocket::writeSome(const void* data, std::size_t bytes) {
    return bytesOf(socket_.writeSome({static_cast<const char*>(data), bytes}));
}

std::optional<std::size_t> TeamSocket::readSome(void* data, std::size_t bytes) {
    return bytesOf(socket_.readSome(static_cast<char*>(data), bytes));
}

Status TeamSocket::write(const void* data, std::size_t bytes, const std::string& who, Deadline deadline) {
    return outcomeOf(socket_.write({static_cast<const char*>(data), bytes}, deadline), who, " does not listen");
}

Status TeamSocket::read(void* data, std::size_t bytes, const std::string& who, Deadline deadline) {
    return outcomeOf(socket_.read(static_cast<char*>(data), bytes, deadline), who, " does not answer");
}

Status TeamSocket::writeText(const std::string& text, const std::string& who, Deadline deadline) {
    const std::uint64_t length = text.size();
    BUBBLESCOPE_TRY(write(&length, sizeof length, who, deadline));
    return write(text.data(), text.size(), who, deadline);
}

Result<std::string> TeamSocket::readText(std::size_t most, const std::string& who, Deadline deadline) {
    std::uint64_t length = 0;
    BUBBLESCOPE_TRY(read(&length, sizeof length, who, deadline));
    if (length > most) return runError(who + " sends what cannot be from this program");
    std::string text(length, '\0');
    BUBBLESCOPE_TRY(read(text.data(), text.size(), who, deadline));
    return text;
}

Result<TeamListener> TeamListener::open(int port, bool loopback) {
    TeamListener listener;
    std::error_code failed;
    listener.listener_ = net::Listener::open(port, loopback, failed);
    if (!listener.listener_.isOpen()) {
        return runError("rank 0 cannot listen on port " + std::to_string(port) + ": " + failed.message(),
                        "another program may use it: give all processes another one in BUBBLESCOPE_PORT");
    }
    return listener;
}

Result<std::optional<TeamSocket>> TeamListener::accept(net::Deadline deadline) {
    std::error_code failed;
    net::Socket accepted = listener_.accept(deadline, failed);
    if (failed) return runError("a connection cannot be accepted: " + failed.message());
    if (!accepted.isOpen()) return std::optional<TeamSocket>();
    accepted.enableKeepAlive();
    return std::optional<TeamSocket>(std::move(accepted));
}

} // namespace bubblescope
