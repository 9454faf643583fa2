// Who is let in by a secret, and who is not.

#include "core/net/admission.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace bubblescope::net {
namespace {

using namespace std::chrono_literals;

/// A listener, which is polled by the tests' own time.
class Door {
public:
    std::vector<Admission::Admitted> poll() {
        now += 1ms;
        return admission.poll(now, 100);
    }
    Socket connect() {
        Connector connector(address);
        EXPECT_EQ(connector.wait(Clock::now() + 10s), Connector::Stage::Connected) << connector.reason();
        return connector.take();
    }
    /// Polls until the listener has sent a frame there, or closed the connection.
    Result<Frame> frameFor(Socket& socket) {
        for (int i = 0; i < 10'000; ++i) {
            for (Admission::Admitted& one : poll()) {
                one.link.send(one.welcome);
                one.link.flush();
                admitted.push_back(std::move(one));
            }
            Result<Frame> frame = readFrame(socket, Clock::now() + 5ms);
            if (frame.ok() || frame.error().text().find("not responding") == std::string::npos) return frame;
        }
        return runError("no answer");
    }

    Address address{"127.0.0.1", 0};
    Admission admission = Admission::open(Listener::open(address).value(), {"the secret", "wrong"}).value();
    std::vector<Admission::Admitted> admitted;
    TimeNs now{0};
};

void send(Socket& socket, const Frame& frame) {
    EXPECT_EQ(socket.write(encode(frame), Clock::now() + 10s), Socket::Outcome::Done);
}

TEST(Admission, BothEndsProveThatTheyKnowTheSecret) {
    Door door;
    Socket socket = door.connect();
    Applicant applicant("the secret", "rank 3");
    send(socket, applicant.answer(door.frameFor(socket).value()).value());
    const Frame welcome = door.frameFor(socket).value();
    EXPECT_TRUE(applicant.trusts(welcome));
    EXPECT_FALSE(Applicant("the secret", "rank 3").trusts(welcome)) << "it is for one connection";
    ASSERT_EQ(door.admitted.size(), 1U);
    EXPECT_EQ(door.admitted[0].statement, "rank 3");
    EXPECT_EQ(door.admitted[0].address, "127.0.0.1");
    EXPECT_EQ(door.admission.strangers(), 0U);
    // An admitted client may continue without frames.
    Socket here = door.admitted[0].link.release();
    ASSERT_EQ(here.write("plain", Clock::now() + 10s), Socket::Outcome::Done);
    std::string plain(5, '\0');
    ASSERT_EQ(socket.read(plain.data(), plain.size(), Clock::now() + 10s), Socket::Outcome::Done);
    EXPECT_EQ(plain, "plain");
}

TEST(Admission, AWrongSecretIsRefused) {
    Door door;
    Socket socket = door.connect();
    Applicant applicant("a guess", "rank 3");
    send(socket, applicant.answer(door.frameFor(socket).value()).value());
    const Frame refusal = door.frameFor(socket).value();
    EXPECT_EQ(refusal.kind, Frame::Kind::Refused);
    EXPECT_EQ(refusal.text, "wrong");
    EXPECT_FALSE(applicant.trusts(refusal));
    EXPECT_TRUE(door.admitted.empty());
    EXPECT_EQ(door.admission.refused(), 1);
}

TEST(Admission, AProofServesOnceAndForOneStatement) {
    Door door;
    Frame nonce;
    nonce.kind = Frame::Kind::Challenge;
    nonce.text = std::string(kProofBytes, 'n');
    // An impostor learns a hello, and cannot answer it.
    Applicant deceived("the secret", "rank 3");
    Frame seen = deceived.answer(nonce).value();
    EXPECT_EQ(seen.text.find("the secret"), std::string::npos) << "the secret is not sent";
    Frame made_up;
    made_up.kind = Frame::Kind::Welcome;
    for (const std::size_t at : {std::size_t{0}, kProofBytes}) { // what it has seen
        made_up.text = seen.text.substr(at, kProofBytes);
        EXPECT_FALSE(deceived.trusts(made_up));
    }
    Socket again = door.connect();
    (void)door.frameFor(again);
    send(again, seen);
    EXPECT_EQ(door.frameFor(again).value().kind, Frame::Kind::Refused) << "it was for another challenge";

    Socket changed = door.connect();
    Frame hello = Applicant("the secret", "rank 3").answer(door.frameFor(changed).value()).value();
    hello.text.back() = '4';
    send(changed, hello);
    EXPECT_EQ(door.frameFor(changed).value().kind, Frame::Kind::Refused) << "it was for another rank";
    EXPECT_TRUE(door.admitted.empty());
}

TEST(Admission, WhoSpeaksOutOfTurnIsDisconnected) {
    Door door;
    Socket early = door.connect();
    Frame open;
    open.kind = Frame::Kind::Open;
    (void)door.frameFor(early);
    send(early, open);
    EXPECT_FALSE(door.frameFor(early).ok());
    Socket another = door.connect();
    ASSERT_EQ(another.write("GET / HTTP/1.1\r\nHost: a.host.with.a.name\r\n\r\n", Clock::now() + 10s),
              Socket::Outcome::Done);
    (void)door.frameFor(another);
    EXPECT_FALSE(door.frameFor(another).ok());
    Socket silent = door.connect();
    (void)door.frameFor(silent);
    EXPECT_EQ(door.admission.strangers(), 1U);
    door.now += 11s;
    EXPECT_FALSE(door.frameFor(silent).ok()) << "who says nothing is not waited for";
    EXPECT_FALSE(Applicant("the secret", "").answer(open).ok());
}

TEST(Admission, StrangersKeepNobodyOut) {
    Door door;
    std::vector<Socket> silent;
    for (int i = 0; i < 1200; ++i) { // more than may be in it at once
        silent.push_back(door.connect());
        (void)door.poll();
        EXPECT_LE(door.admission.strangers(), 1024U);
    }
    Socket socket = door.connect();
    Applicant applicant("the secret", "rank 3");
    send(socket, applicant.answer(door.frameFor(socket).value()).value());
    EXPECT_TRUE(applicant.trusts(door.frameFor(socket).value()));
    EXPECT_GE(door.admission.evicted(), 100);
}

TEST(Admission, WhoHasJustComeIsNotSentAway) {
    Door door;
    std::vector<Socket> together;
    for (int i = 0; i < 1060; ++i)
        together.push_back(door.connect());
    for (int i = 0; i < 20; ++i)
        (void)door.poll();
    EXPECT_EQ(door.admission.strangers(), 1024U) << "the others wait in the system's queue";
    EXPECT_EQ(door.admission.evicted(), 0);
    door.now += 1s;
    (void)door.poll();
    EXPECT_EQ(door.admission.evicted(), 1060 - 1024);
}

} // namespace
} // namespace bubblescope::net
