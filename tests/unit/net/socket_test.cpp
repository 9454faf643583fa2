#include "core/net/socket.h"

#include "core/net/link.h"
#include "core/net/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
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

TEST(Link, HoldsNothingOfWhatItHasSentThoughItsQueueIsNeverEmpty) {
    Pair ends;
    Link sender(std::move(ends.here));
    Link taker(std::move(ends.there));
    Frame frame;
    frame.kind = Frame::Kind::Data;
    frame.text = std::string(std::size_t{1} << 16, 'x');
    constexpr std::size_t kQueued = std::size_t{32} << 20; // more than the system's buffers take
    std::size_t most = 0;
    while (taker.received() < 4 * kQueued) {
        while (sender.waiting() < kQueued)
            sender.send(frame);
        sender.flush();
        ASSERT_GT(sender.waiting(), 0U);
        most = std::max(most, sender.held());
        taker.poll([](const Frame&) {});
        ASSERT_FALSE(taker.ended()) << taker.reason();
    }
    EXPECT_LE(most, 3 * kQueued);
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
    EXPECT_FALSE(Listener::openReachable(address, failed).isOpen());
    EXPECT_EQ(failed, std::errc::address_in_use);
    EXPECT_FALSE(Listener::open(address).ok());
}

/// The address that a listener is bound to, as the system tells it.
std::string boundTo(const Listener& listener) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    EXPECT_EQ(::getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&bound), &length), 0);
    std::array<char, NI_MAXHOST> text{};
    EXPECT_EQ(::getnameinfo(reinterpret_cast<sockaddr*>(&bound), length, text.data(), text.size(), nullptr, 0,
                            NI_NUMERICHOST),
              0);
    return text.data();
}

TEST(Listener, ListensOnTheInterfaceThatItsHostNames) {
    std::error_code failed;
    EXPECT_EQ(boundTo(Listener::openReachable({"127.0.0.1", 0}, failed)), "127.0.0.1");
    // Another host's address, as behind a translation: on all, since it could be any of them.
    const Listener anywhere = Listener::openReachable({"192.0.2.1", 0}, failed);
    ASSERT_TRUE(anywhere.isOpen()) << failed.message();
    EXPECT_THAT(boundTo(anywhere), testing::AnyOf("::", "0.0.0.0"));
}

TEST(Address, KnowsTheLoopback) {
    for (const char* const host : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "localhost"})
        EXPECT_TRUE((Address{host, 1}.isLoopback())) << host;
    for (const char* const host : {"0.0.0.0", "::", "10.0.0.1", "head-node", "127.example.org", ""})
        EXPECT_FALSE((Address{host, 1}.isLoopback())) << host;
    EXPECT_TRUE(mustBeLoopback({"::1", 1}, "--trust").ok());
    const Status refused = mustBeLoopback({"0.0.0.0", 9200}, "--trust FILE");
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().text(), testing::HasSubstr("--trust FILE"));
    EXPECT_THAT(refused.error().text(), testing::HasSubstr("in transit: insecure"));
}

TEST(Socket, NamesTheOtherEnd) {
    const Pair ends;
    EXPECT_EQ(ends.here.peer(), "127.0.0.1");
    EXPECT_EQ(ends.there.peer(), "127.0.0.1");
    EXPECT_EQ(Socket().peer(), "");
}

std::string hexOf(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        for (const int shift : {4, 0})
            text += "0123456789abcdef"[(static_cast<unsigned char>(byte) >> shift) & 15];
    }
    return text;
}

/// RFC 4231, cases 1, 2 and 6.
TEST(Proof, IsHmacSha256) {
    EXPECT_EQ(hexOf(bytesOf(proofOf(std::string(20, '\x0b'), "Hi There"))),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(hexOf(bytesOf(proofOf("Jefe", "what do ya want for nothing?"))),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(
        hexOf(bytesOf(proofOf(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"))),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    EXPECT_NE(makeNonce(), makeNonce());
}

TEST(Proof, SecretsAreCompared) {
    EXPECT_TRUE(equalSecrets("a", "a"));
    EXPECT_FALSE(equalSecrets("a", "ab"));
    EXPECT_FALSE(equalSecrets("a", ""));
}

} // namespace
} // namespace bubblescope::net
