// Data that is read while it is still being written: trace files that grow, and messages of the network.

#include "core/base/visible.h"
#include "core/live/live_analyzer.h"
#include "core/live/stream_receiver.h"
#include "core/live/stream_sender.h"
#include "core/net/admission.h"
#include "core/net/link.h"
#include "core/otlp/reply.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

#include <sys/socket.h>

#include <algorithm>

namespace bubblescope::fuzz {
namespace {

using live::LiveAnalyzer;
using live::LiveCounts;

/// Two streams; the second is replaced by the first one's bytes.
LiveCounts watch(std::string_view bytes, std::size_t piece) {
    live::LiveOptions options;
    options.assembly.open_steps = 4;
    options.window = {2, 3};
    options.history = 5;
    LiveAnalyzer analyzer(options);
    const auto first = analyzer.open();
    const auto second = analyzer.open();
    TimeNs now{0};
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        analyzer.feed(first, bytes.substr(at, piece), now);
        require(analyzer.pending(first) <= bytes.size(), "no more waits than came");
    }
    analyzer.feed(second, bytes.substr(0, bytes.size() / 2), now);
    analyzer.restart(second);
    analyzer.feed(second, bytes, now);
    analyzer.gone(second, "it was told so");
    constexpr TimeNs kLong{std::chrono::minutes(1)};
    for (int turn = 0; turn < 4; ++turn)
        (void)analyzer.advance(now += kLong);
    require(analyzer.steps().size() <= options.history, "old steps go");
    for (const live::LiveStep& step : analyzer.steps()) {
        require(step.complete || step.wall == TimeNs{0} || !step.fault.empty(), "what is incomplete says why");
        require(step.bubble >= TimeNs{0} && step.busy >= TimeNs{0}, "times are not negative");
    }
    require(analyzer.counts().undelivered >= 0 && analyzer.counts().dropped >= 0, "counts are not negative");
    return analyzer.counts();
}

} // namespace

void liveStream(std::string_view bytes) {
    const LiveCounts whole = watch(bytes, std::max<std::size_t>(1, bytes.size()));
    const LiveCounts parts = watch(bytes, 61);
    require(whole.slices == parts.slices && whole.packets == parts.packets && whole.torn == parts.torn &&
                whole.damaged == parts.damaged,
            "how the bytes are cut makes no difference");
}

namespace {

/// The bytes with correct checksums, which mutations do not find by chance.
std::string withSums(std::string_view bytes) {
    constexpr std::size_t kHead = 49;
    const auto number = [&](std::size_t at, std::size_t size) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < size; ++i)
            value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
        return value;
    };
    std::string sealed;
    while (bytes.size() >= kHead) {
        const std::uint64_t length = number(0, 4) + 4;
        if (length < kHead || length > bytes.size()) break;
        net::Frame frame;
        frame.kind = static_cast<net::Frame::Kind>(number(12, 1));
        frame.stream = static_cast<std::uint32_t>(number(13, 4));
        frame.offset = number(17, 8);
        for (std::size_t i = 0; i < frame.times.size(); ++i)
            frame.times[i] = TimeNs{static_cast<std::int64_t>(number(25 + 8 * i, 8))};
        frame.text = bytes.substr(kHead, static_cast<std::size_t>(length) - kHead);
        sealed += encode(frame);
        bytes.remove_prefix(static_cast<std::size_t>(length));
    }
    return sealed.append(bytes);
}

} // namespace

void networkFrames(std::string_view given) {
    const std::string sealed = withSums(given);
    const std::string_view bytes = sealed;
    const auto read = [&](std::size_t piece) {
        net::FrameReader reader;
        std::string again;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            reader.feed(bytes.substr(at, piece));
            while (true) {
                const auto frame = reader.next();
                if (!frame.ok()) {
                    require(!frame.error().message.empty(), "an error says what is wrong");
                    return again;
                }
                if (!frame.value()) break;
                again += encode(*frame.value());
            }
        }
        return again;
    };
    const std::string whole = read(std::max<std::size_t>(1, bytes.size()));
    require(bytes.starts_with(whole), "a message is written as it was read");
    require(read(7) == whole, "how the bytes are cut makes no difference");
}

namespace {

constexpr int kTurns = 100'000; ///< more than any admission takes

/// Sends the bytes in small pieces. `turn` lets the other end read.
template <class Turn>
void sendPieces(int socket, std::string_view bytes, const Turn& turn) {
    const linger reset{1, 0}; // or ports would run out after thousands of inputs
    (void)::setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    constexpr std::size_t kPiece = 997;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
        (void)::send(socket, bytes.data(), std::min(kPiece, bytes.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
        turn();
    }
    for (int last = 0; last < 3; ++last)
        turn();
}

} // namespace

void welcomed(std::string_view given) {
    auto opened = live::StreamReceiver::open({{"127.0.0.1", 0}, "the secret", "clock", {}});
    require(opened.ok(), "a port can be opened");
    live::StreamReceiver& receiver = opened.value();
    net::Connector connector(receiver.address());
    require(connector.wait(net::Clock::now() + std::chrono::seconds(5)) == net::Connector::Stage::Connected,
            "a sender can connect");
    net::Link link(connector.take());
    net::Applicant applicant("the secret", "node\nclock");
    LiveAnalyzer analyzer;
    TimeNs now{0};
    bool welcome = false;
    const auto turn = [&] {
        receiver.poll(analyzer, now += std::chrono::milliseconds(1));
        if (link.ended()) return;
        link.poll([&](const net::Frame& frame) {
            welcome = welcome || frame.kind == net::Frame::Kind::Welcome;
            if (frame.kind != net::Frame::Kind::Challenge) return;
            if (const auto hello = applicant.answer(frame); hello.ok()) link.send(hello.value());
        });
    };
    for (int i = 0; i < kTurns && !welcome; ++i)
        turn();
    require(welcome, "who has the secret is welcome");
    sendPieces(link.descriptor(), withSums(given), turn);
    (void)analyzer.advance(now += std::chrono::minutes(1));
    require(receiver.connections() <= 1 && receiver.repeated() >= 0, "a sender is one connection");
    require(analyzer.counts().undelivered >= 0 && analyzer.counts().dropped >= 0, "counts are not negative");
}

void collectorAnswers(std::string_view given) {
    constexpr std::string_view kBetween = "\n---\n";
    const std::size_t at = std::min(given.find(kBetween), given.size());
    net::Address address{"127.0.0.1", 0};
    auto listener = net::Listener::open(address);
    require(listener.ok(), "a port can be opened");
    auto admission = net::Admission::open(std::move(listener).value(), {"the secret", "no", {}});
    require(admission.ok(), "an admission begins");
    live::StreamSender sender({address, "the secret", "node", "clock", {}});
    const auto stream = sender.open("a stream");
    sender.feed(stream, given.substr(0, at), TimeNs{0});
    std::vector<net::Admission::Admitted> admitted;
    TimeNs now{0};
    Status status;
    const auto turn = [&] {
        now += std::chrono::milliseconds(1);
        if (status.ok()) status = sender.poll(now);
        require(!sender.done() || sender.unacknowledged() == 0, "a sender is done when everything has arrived");
        require(sender.pending(stream) <= given.size(), "no more waits than came");
        if (const auto rewind = sender.takeRewind(stream))
            require(*rewind >= 0, "files are read again from a place in them");
    };
    for (int i = 0; i < kTurns && admitted.empty(); ++i) {
        turn();
        admitted = admission.value().poll(now, 1);
    }
    require(!admitted.empty(), "a sender with the secret is admitted");
    net::Link& link = admitted.front().link;
    link.send(admitted.front().welcome);
    link.flush();
    turn();
    sendPieces(link.descriptor(), withSums(given.substr(std::min(at + kBetween.size(), given.size()))), turn);
    sender.gone(stream, "it ended");
    turn();
    require(status.ok() || !status.error().text().empty(), "an error says what is wrong");
}

void otlpReplies(std::string_view given) {
    const std::optional<otlp::Reply> early = otlp::readReply(given.substr(0, given.size() / 2), false);
    const std::optional<otlp::Reply> first = otlp::readReply(given, false);
    const std::optional<otlp::Reply> last = otlp::readReply(given, true);
    const auto same = [](const std::optional<otlp::Reply>& a, const std::optional<otlp::Reply>& b) {
        return b && a->code == b->code && a->status == b->status && a->body == b->body;
    };
    require(!early || same(early, first), "more bytes do not change a complete reply");
    require(!first || same(first, last), "the end does not change a complete reply");
    if (!last) return;
    for (const otlp::Signal signal : {otlp::Signal::Traces, otlp::Signal::Metrics}) {
        const otlp::Verdict verdict = otlp::judge(*last, signal, TimeNs{0});
        require(!verdict.taken || !verdict.again, "a request is not sent again after it was taken");
        require(verdict.taken || !verdict.reason.empty(), "a rejection has a reason");
        require(verdict.reason == visible(verdict.reason), "reasons are displayable");
        require(!verdict.pause || (verdict.again && *verdict.pause <= std::chrono::hours(24)), "pauses are limited");
    }
}

} // namespace bubblescope::fuzz
