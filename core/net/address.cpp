#include "core/net/address.h"

#include "core/base/text.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace bubblescope::net {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Error addressError(const Address& address, std::string_view what, std::string_view why) {
    Error error = runError(fmt::format("{}: {}", what, why));
    error.where = address.text();
    return error;
}

Result<AddressList> resolve(const Address& address, bool passive) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
    addrinfo* found = nullptr;
    const int failed = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
    if (failed != 0) return addressError(address, "the address is not known", ::gai_strerror(failed));
    return AddressList(found, &::freeaddrinfo);
}

void sendAtOnce(int socket) {
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

int portOf(int socket) {
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0) return 0;
    if (own.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(own).sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in&>(own).sin_port);
}

} // namespace

std::string Address::text() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<Address> parseAddress(std::string_view text) {
    Address address{"127.0.0.1", 0};
    const std::size_t colon = text.rfind(':');
    std::string_view host = colon == std::string_view::npos ? std::string_view() : text.substr(0, colon);
    const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (!host.empty()) address.host = host;
    const auto number = parseNumber<int>(port);
    constexpr int kLast = 65535;
    if (!number || *number < 0 || *number > kLast) {
        return usageError(fmt::format("'{}' is no address", text), "give HOST:PORT, or PORT for this machine alone");
    }
    address.port = *number;
    return address;
}

Result<Descriptor> listenAt(Address& address) {
    BUBBLESCOPE_ASSIGN(const AddressList found, resolve(address, true));
    int code = 0;
    for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
        Descriptor socket(::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol));
        const int yes = 1;
        constexpr int kWaiting = 1024;
        if (socket.isOpen() && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
            ::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 && ::listen(socket.get(), kWaiting) == 0) {
            address.port = portOf(socket.get());
            return socket;
        }
        code = errno;
    }
    return addressError(address, "cannot listen", std::strerror(code));
}

Result<Descriptor> connectTo(const Address& address) {
    BUBBLESCOPE_ASSIGN(const AddressList found, resolve(address, false));
    int code = 0;
    for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
        Descriptor socket(::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol));
        if (socket.isOpen()) {
            sendAtOnce(socket.get());
            if (::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS) return socket;
        }
        code = errno;
    }
    return addressError(address, "cannot connect", std::strerror(code));
}

Descriptor acceptFrom(const Descriptor& listener) {
    Descriptor connection(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.isOpen()) sendAtOnce(connection.get());
    return connection;
}

} // namespace bubblescope::net
