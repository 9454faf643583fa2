#include "core/net/socket.h"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <string>
#include <thread>

namespace bubblescope::net {
namespace {

using namespace std::chrono_literals;

Clock::time_point soon() {
    return Clock::now() + 10s;
}

/// Both ends of a connection.
struct Pair {
    Pair() {
        Address address{"127.0.0.1", 0};
        listener = Listener::open(address).value();
        Connector connector(address);
        EXPECT_EQ(connector.wait(soon()), Connector::Stage::Connected) << connector.reason();
        here = connector.take();
        std::error_code failed;
        there = listener.accept(soon(), failed);
        EXPECT_FALSE(failed);
        EXPECT_TRUE(there.isOpen());
    }
    Listener listener;
    Socket here;
    Socket there;
};

TEST(Socket, CarriesMoreThanFitsItsBuffers) {
    Pair ends;
    const std::string sent(std::size_t{16} << 20, 'x');
    std::thread writer([&] { EXPECT_EQ(ends.here.write(sent, soon()), Socket::Outcome::Done); });
    std::string got(sent.size(), '\0');
    EXPECT_EQ(ends.there.read(got.data(), got.size(), soon()), Socket::Outcome::Done);
    writer.join();
    EXPECT_EQ(got, sent);
}

TEST(Socket, WaitsNoLongerThanTheDeadline) {
    Pair ends;
    char byte = 0;
    EXPECT_EQ(ends.there.readSome(&byte, 1).bytes, 0U);
    EXPECT_EQ(ends.there.read(&byte, 1, Clock::now() + 20ms), Socket::Outcome::TimedOut);
    EXPECT_EQ(ends.here.write("a", soon()), Socket::Outcome::Done);
    EXPECT_EQ(ends.there.read(&byte, 1, soon()), Socket::Outcome::Done) << "a wait that was given up does no harm";
    std::error_code failed;
    EXPECT_FALSE(ends.listener.accept(Clock::now() + 20ms, failed).isOpen());
    EXPECT_FALSE(failed);
}

TEST(Socket, NoticesTheEnd) {
    Pair ends;
    EXPECT_TRUE(ends.here.shutdownWrite());
    char byte = 0;
    EXPECT_EQ(ends.there.read(&byte, 1, soon()), Socket::Outcome::Closed);
    const Socket::Progress end = ends.there.readSome(&byte, 1);
    EXPECT_TRUE(end.ended);
    EXPECT_FALSE(end.reason) << "the other end closed it";
}

TEST(Socket, IsNotLeftOpenInOtherPrograms) {
    Pair ends;
    for (const int descriptor : {ends.listener.descriptor(), ends.here.descriptor(), ends.there.descriptor()})
        EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Connector, TriesEveryAddressOfAHost) {
    Address any{"127.0.0.1", 0};
    const Listener listener = Listener::open(any).value(); // "localhost" may be ::1 first
    Connector connector({"localhost", any.port});
    const Connector::Stage reached = connector.wait(soon());
    if (connector.unknownHost()) GTEST_SKIP() << "this machine has no address for localhost";
    EXPECT_EQ(reached, Connector::Stage::Connected) << connector.reason();
    EXPECT_TRUE(connector.take().isOpen());
}

TEST(Connector, ReportsWhyItFailed) {
    Address address{"127.0.0.1", 0};
    { const Listener nobody_later = Listener::open(address).value(); }
    Connector refused(address);
    EXPECT_EQ(refused.wait(soon()), Connector::Stage::Failed);
    EXPECT_EQ(refused.reason(), "Connection refused");
    EXPECT_FALSE(refused.unknownHost());

    Connector unknown({"no host.invalid", 1});
    EXPECT_EQ(unknown.wait(Clock::now() + 60s), Connector::Stage::Failed);
    EXPECT_TRUE(unknown.unknownHost());
    EXPECT_FALSE(unknown.reason().empty());
}

TEST(Listener, ReportsWhyItCannotListen) {
    Address address{"127.0.0.1", 0};
    const Listener first = Listener::open(address).value();
    std::error_code failed;
    EXPECT_FALSE(Listener::open(address.port, true, failed).isOpen());
    EXPECT_EQ(failed, std::errc::address_in_use);
    EXPECT_FALSE(Listener::open(address).ok());
}

TEST(Listener, ListensOnAllAddresses) {
    std::error_code failed;
    const Listener listener = Listener::open(0, false, failed);
    EXPECT_TRUE(listener.isOpen()) << failed.message();
}

} // namespace
} // namespace bubblescope::net
