#include "core/live/stream_receiver.h"

#include <sys/epoll.h>

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace bubblescope::profiler {
namespace {

constexpr std::size_t kMaxPeers = 4096;
constexpr std::size_t kMaxStreams = std::size_t{1} << 17;
constexpr std::size_t kBeforeGreeting = 4096; ///< bytes that a stranger may send
constexpr TimeNs kGreetWithin{std::chrono::seconds(10)};

std::string_view takeLine(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

} // namespace

Result<StreamReceiver> StreamReceiver::open(Options options) {
    if (options.token.empty()) return usageError("a collector needs a token", "give --token-file FILE");
    StreamReceiver receiver(std::move(options));
    BUBBLESCOPE_ASSIGN(receiver.listener_, listenAt(receiver.options_.address));
    receiver.events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    if (!receiver.events_.isOpen() ||
        ::epoll_ctl(receiver.events_.get(), EPOLL_CTL_ADD, receiver.listener_.get(), &event) != 0) {
        return runError("the collector's socket cannot be watched");
    }
    return receiver;
}

void StreamReceiver::accept(TimeNs now) {
    while (peers_.size() < kMaxPeers) {
        Descriptor socket = acceptFrom(listener_);
        if (!socket.isOpen()) return;
        std::unique_ptr<TlsSession> tls;
        if (options_.tls) {
            auto begun = options_.tls->begin();
            if (!begun.ok()) continue; // memory runs out; the sender tries again
            tls = std::move(begun).value();
        }
        epoll_event event{};
        event.events = EPOLLIN;
        ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket.get(), &event);
        peers_.push_back({Link(std::move(socket), std::move(tls)), ++accepted_, now, false, {}, {}, {}});
    }
}

void StreamReceiver::turn(LiveAnalyzer& engine, TimeNs now) {
    std::array<epoll_event, 64> told{};
    [[maybe_unused]] const int ignored = ::epoll_wait(events_.get(), told.data(), std::ssize(told), 0); // all are asked
    accept(now);
    for (auto peer = peers_.begin(); peer != peers_.end();) {
        peer->link.turn([&](const Frame& frame) { take(*peer, frame, engine, now); });
        const bool stranger =
            !peer->welcome && (now - peer->since > kGreetWithin || peer->link.received() > kBeforeGreeting);
        peer = peer->link.over() || stranger ? peers_.erase(peer) : std::next(peer);
    }
}

void StreamReceiver::finish(TimeNs longest) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + longest;
    listener_ = Descriptor();
    for (Peer& peer : peers_)
        peer.link.endAfterSending();
    while (!peers_.empty() && Clock::now() < until) {
        std::erase_if(peers_, [](Peer& peer) {
            if (!peer.link.over()) peer.link.turn([](const Frame&) {});
            return peer.link.over();
        });
        constexpr int kMilliseconds = 10; // what waits to be sent wakes nobody
        pollfd wait{events_.get(), POLLIN, 0};
        if (!peers_.empty()) ::poll(&wait, 1, kMilliseconds);
    }
}

void StreamReceiver::answer(Peer& peer, Frame::Kind kind, std::uint32_t stream, std::uint64_t offset) {
    Frame frame;
    frame.kind = kind;
    frame.stream = stream;
    frame.offset = offset;
    peer.link.send(frame);
}

void StreamReceiver::take(Peer& peer, const Frame& frame, LiveAnalyzer& engine, TimeNs now) {
    if (!peer.welcome) return greet(peer, frame);
    switch (frame.kind) {
    case Frame::Kind::Open: openStream(peer, frame, engine); break;
    case Frame::Kind::Data: takeData(peer, frame, engine, now); break;
    case Frame::Kind::Gone:
        if (const Known* const known = knownOf(peer, frame.stream); known != nullptr && !known->finished)
            engine.gone(known->stream, peer.name + ": " + frame.text);
        break;
    case Frame::Kind::Finish:
        if (Known* const known = knownOf(peer, frame.stream); known != nullptr && !known->finished) {
            engine.close(known->stream);
            known->kept = {};
            known->finished = true;
        }
        break;
    case Frame::Kind::Ping: {
        Frame pong = frame;
        pong.kind = Frame::Kind::Pong;
        pong.times[1] = pong.times[2] = now;
        peer.link.send(pong);
        break;
    }
    case Frame::Kind::Pong: // what the sender measured
        if (!peer.clock.empty() && !options_.clock.empty()) {
            const TimeNs back{static_cast<std::int64_t>(frame.offset)};
            engine.clocks().addPing(peer.clock, options_.clock,
                                    {0, 0, frame.times[0], frame.times[1], frame.times[2], back});
        }
        break;
    default: break;
    }
}

void StreamReceiver::greet(Peer& peer, const Frame& frame) {
    std::string_view text = frame.text;
    const bool right = frame.kind == Frame::Kind::Hello && equalSecrets(takeLine(text), options_.token);
    if (!right) {
        ++refused_;
        Frame refusal;
        refusal.kind = Frame::Kind::Refused;
        refusal.text = "the token is wrong";
        peer.link.send(refusal);
        peer.link.endAfterSending();
        return;
    }
    peer.name = takeLine(text);
    peer.clock = takeLine(text);
    peer.welcome = true;
    answer(peer, Frame::Kind::Welcome, 0, 0);
}

StreamReceiver::Known* StreamReceiver::knownOf(const Peer& peer, std::uint32_t stream) {
    const auto key = peer.streams.find(stream);
    if (key == peer.streams.end()) return nullptr;
    const auto known = known_.find(key->second);
    // A sender that connected again took its streams along; the old connection may not know yet that it is dead.
    return known != known_.end() && known->second.owner == peer.number ? &known->second : nullptr;
}

void StreamReceiver::openStream(Peer& peer, const Frame& frame, LiveAnalyzer& engine) {
    const std::int64_t generation = frame.times[0].count();
    const Key key{peer.name, frame.text};
    if (known_.size() >= kMaxStreams && !known_.contains(key)) return;
    const auto [entry, is_new] = known_.try_emplace(key);
    Known& known = entry->second;
    if (is_new) {
        known.stream = engine.open(frame.text);
    } else if (known.generation != generation) {
        if (known.finished) known.stream = engine.open(frame.text);
        engine.restart(known.stream);
        known.kept = {};
        known.finished = false;
        known.offset = 0;
    }
    known.generation = generation;
    known.owner = peer.number;
    peer.streams[frame.stream] = key;
    answer(peer, Frame::Kind::Resume, frame.stream, known.offset);
}

void StreamReceiver::takeData(Peer& peer, const Frame& frame, LiveAnalyzer& engine, TimeNs now) {
    Known* const known = knownOf(peer, frame.stream);
    if (known == nullptr || known->finished) return;
    if (frame.offset > known->offset) return answer(peer, Frame::Kind::Resume, frame.stream, known->offset);
    const std::uint64_t twice = std::min<std::uint64_t>(known->offset - frame.offset, frame.text.size());
    repeated_ += static_cast<std::int64_t>(twice);
    const std::string_view fresh = std::string_view(frame.text).substr(static_cast<std::size_t>(twice));
    engine.feed(known->stream, fresh, now);
    if (kept_) {
        const bool told = engine.statementOf(known->stream).has_value();
        const Key& key = peer.streams.at(frame.stream);
        kept_->feed(known->kept, key.first, key.second, fresh,
                    told ? std::optional(engine.isCaptured(known->stream)) : std::nullopt);
    }
    known->offset += frame.text.size() - twice;
    answer(peer, Frame::Kind::Ack, frame.stream, known->offset);
}

} // namespace bubblescope::profiler
