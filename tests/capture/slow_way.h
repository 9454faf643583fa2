#pragma once

#include "core/base/descriptor.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <thread>

namespace bubblescope::test {

/// A slow connection to a program on this machine, for one client.
class SlowWay {
public:
    /// `to` is "HOST:PORT". At most `bytes` bytes per 0.1 s are passed on to it.
    SlowWay(const std::string& to, std::size_t bytes) : bytes_(bytes), over_(::eventfd(0, EFD_CLOEXEC)) {
        listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in own = onLoopback(0);
        socklen_t size = sizeof own;
        EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&own), size), 0);
        EXPECT_EQ(::listen(listener_.get(), 1), 0);
        EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&own), &size), 0);
        port_ = ntohs(own.sin_port);
        const auto port = static_cast<std::uint16_t>(std::stoi(to.substr(to.rfind(':') + 1)));
        thread_ = std::thread([this, port] { pass(port); });
    }
    SlowWay(const SlowWay&) = delete;
    SlowWay& operator=(const SlowWay&) = delete;
    ~SlowWay() {
        ::eventfd_write(over_.get(), 1);
        thread_.join();
    }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
    static sockaddr_in onLoopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        return address;
    }
    [[nodiscard]] bool isOver(int milliseconds) const {
        pollfd over{over_.get(), POLLIN, 0};
        return ::poll(&over, 1, milliseconds) > 0;
    }
    static bool copy(int from, int to, std::size_t most) {
        std::array<char, 1 << 16> buffer;
        const ssize_t got = ::recv(from, buffer.data(), std::min(most, buffer.size()), MSG_DONTWAIT);
        if (got == 0) return false;
        return got < 0 || ::send(to, buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
    }
    void pass(std::uint16_t port) const {
        std::array<pollfd, 2> first{{{listener_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}}};
        ::poll(first.data(), first.size(), -1);
        if (first[0].revents == 0) return;
        const Descriptor near(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const Descriptor far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_in there = onLoopback(port);
        if (::connect(far.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) return;
        constexpr int kTenth = 100; // ms
        while (!isOver(kTenth)) {
            if (!copy(near.get(), far.get(), bytes_) || !copy(far.get(), near.get(), std::size_t{1} << 16)) return;
        }
    }

    std::size_t bytes_;
    Descriptor over_; ///< readable when the test is over
    Descriptor listener_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

} // namespace bubblescope::test
