#include "runtime/launch/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

Error systemError(const std::string& tried, int code, std::string hint = {}) {
    return runError(tried + ": " + std::strerror(code), std::move(hint));
}

void set(int descriptor, int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof value); // what cannot be set is done without
}

/// Connections notice within a minute that the other host is gone, and small messages go at once.
void tune(int descriptor) {
    constexpr int kMinute = 60'000;
    set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, kMinute);
}

/// Waits until the socket can be used as asked; false at the deadline.
Result<bool> await(int descriptor, short events, Socket::Deadline deadline) {
    for (;;) {
        int wait = -1;
        if (deadline) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Socket::Clock::now());
            wait = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
        }
        pollfd one{descriptor, events, 0};
        const int found = ::poll(&one, 1, wait);
        if (found > 0) return true;
        if (found < 0 && errno != EINTR) return systemError("a connection cannot be waited for", errno);
        if (deadline && Socket::Clock::now() >= *deadline) return false;
    }
}

} // namespace

Socket::~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Socket> Socket::listen(int port, bool loopback, int waiting) {
    Socket listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool six = listener.isOpen();
    if (!six) listener = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listener.isOpen()) return systemError("no socket can be made", errno);
    set(listener.descriptor_, SOL_SOCKET, SO_REUSEADDR, 1);
    const auto number = htons(static_cast<std::uint16_t>(port));
    int bound = 0;
    if (six && !loopback) {
        set(listener.descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, 0);
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = number;
        bound = ::bind(listener.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } else {
        if (six) listener = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        set(listener.descriptor_, SOL_SOCKET, SO_REUSEADDR, 1);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = number;
        address.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
        bound = ::bind(listener.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    if (bound != 0 || ::listen(listener.descriptor_, waiting) != 0) {
        return systemError("rank 0 cannot listen on port " + std::to_string(port), errno,
                           "another program may use it: give all processes another one in BUBBLESCOPE_PORT");
    }
    return listener;
}

Result<std::optional<Socket>> Socket::accept(Deadline deadline) {
    BUBBLESCOPE_ASSIGN(const bool some, await(descriptor_, POLLIN, deadline));
    if (!some) return std::optional<Socket>();
    Socket connection(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.isOpen()) return systemError("a connection cannot be accepted", errno);
    tune(connection.descriptor_);
    return std::optional<Socket>(std::move(connection));
}

Result<Socket> Socket::connect(const std::string& host, int port, Clock::time_point deadline) {
    constexpr auto kNap = 50ms;
    std::string why;
    do {
        addrinfo wanted{};
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
        if (code != 0) why = ::gai_strerror(code);
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(code == 0 ? found : nullptr, [](addrinfo* first) {
            if (first != nullptr) ::freeaddrinfo(first);
        });
        for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
            Socket connection(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            if (!connection.isOpen()) continue;
            if (::connect(connection.descriptor_, one->ai_addr, one->ai_addrlen) != 0 && errno != EINPROGRESS) {
                why = std::strerror(errno);
                continue;
            }
            BUBBLESCOPE_ASSIGN(const bool done, await(connection.descriptor_, POLLOUT, deadline));
            int error = done ? 0 : ETIMEDOUT;
            socklen_t length = sizeof error;
            if (done) ::getsockopt(connection.descriptor_, SOL_SOCKET, SO_ERROR, &error, &length);
            if (error == 0) {
                tune(connection.descriptor_);
                return connection;
            }
            why = std::strerror(error);
        }
        std::this_thread::sleep_for(kNap);
    } while (Clock::now() < deadline);
    return runError("rank 0 cannot be reached at " + host + ", port " + std::to_string(port) + ": " + why,
                    "see whether its process has started and whether a firewall is between the hosts; BUBBLESCOPE_PORT "
                    "chooses another port");
}

std::optional<std::size_t> Socket::writeSome(const void* data, std::size_t bytes) {
    const ssize_t count = ::send(descriptor_, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
    return std::nullopt;
}

std::optional<std::size_t> Socket::readSome(void* data, std::size_t bytes) {
    const ssize_t count = ::recv(descriptor_, data, bytes, MSG_DONTWAIT);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
    return std::nullopt;
}

Status Socket::write(const void* data, std::size_t bytes, const std::string& who, Deadline deadline) {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
        BUBBLESCOPE_ASSIGN(const bool able, await(descriptor_, POLLOUT, deadline));
        if (!able) return runError(who + " does not listen");
        const auto count = writeSome(at, bytes);
        if (!count) return runError(who + " has closed its connection", "its process has ended: see what it printed");
        at += *count;
        bytes -= *count;
    }
    return {};
}

Status Socket::read(void* data, std::size_t bytes, const std::string& who, Deadline deadline) {
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
        BUBBLESCOPE_ASSIGN(const bool able, await(descriptor_, POLLIN, deadline));
        if (!able) return runError(who + " does not answer");
        const auto count = readSome(at, bytes);
        if (!count) return runError(who + " has closed its connection", "its process has ended: see what it printed");
        at += *count;
        bytes -= *count;
    }
    return {};
}

Status Socket::writeText(const std::string& text, const std::string& who, Deadline deadline) {
    const std::uint64_t length = text.size();
    BUBBLESCOPE_TRY(write(&length, sizeof length, who, deadline));
    return write(text.data(), text.size(), who, deadline);
}

Result<std::string> Socket::readText(std::size_t most, const std::string& who, Deadline deadline) {
    std::uint64_t length = 0;
    BUBBLESCOPE_TRY(read(&length, sizeof length, who, deadline));
    if (length > most) return runError(who + " sends what cannot be from this program");
    std::string text(length, '\0');
    BUBBLESCOPE_TRY(read(text.data(), text.size(), who, deadline));
    return text;
}

} // namespace bubblescope
