#include "core/live/stream_receiver.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <system_error>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kMaxBefore = std::size_t{1} << 20; ///< bytes within which a stream must state what it is
constexpr std::string_view kTraceExtension = ".pftrace";

/// Senders choose the name of a file here, but not its folder.
std::string asFileName(std::string name) {
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '_');
    constexpr std::size_t kLongest = 200;
    if (name.size() > kLongest) name.erase(0, name.size() - kLongest);
    return name.empty() || name.front() == '.' ? "_" + name : name;
}

/// Returns "rank2.pid77" for "rank2.pid77.1".
std::string withoutPart(const std::string& stem) {
    const std::size_t dot = stem.rfind('.');
    const bool numbered =
        dot != std::string::npos && dot + 1 < stem.size() &&
        std::ranges::all_of(stem.substr(dot + 1), [](unsigned char c) { return std::isdigit(c) != 0; });
    return numbered ? stem.substr(0, dot) : stem;
}

constexpr std::size_t kMaxPeers = 4096;
constexpr std::ptrdiff_t kMaxStrangers = 256; ///< peers that have not shown the token; the oldest makes room
constexpr std::size_t kMaxStreams = std::size_t{1} << 17;
constexpr std::size_t kBeforeGreeting = 4096; ///< bytes that an unauthenticated peer may send
constexpr TimeNs kGreetWithin{std::chrono::seconds(10)};

std::string_view takeLine(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

} // namespace

void StreamStore::feed(File& file, const std::string& sender, const std::string& name, std::string_view bytes,
                       std::optional<bool> captured) {
    if (file.unwanted) return;
    if (!captured && file.beginning.size() + bytes.size() <= kMaxBefore) {
        file.beginning += bytes;
        return;
    }
    file.unwanted = !captured.value_or(false);
    if (!file.unwanted) {
        Status kept = file.beginning.empty() ? Status() : append(file, sender, name, file.beginning);
        if (kept.ok()) kept = append(file, sender, name, bytes);
        if (!kept.ok()) {
            problem_ = kept.error().text();
            file.unwanted = true;
        }
    }
    file.beginning = {};
    if (file.unwanted) file.file.reset();
}

Status StreamStore::append(File& file, const std::string& sender, const std::string& name, std::string_view bytes) {
    if (!file.file) {
        const std::filesystem::path path = pathOf(sender, name);
        std::error_code ignored; // perfetto::PacketFile reports the error
        std::filesystem::create_directories(path.parent_path(), ignored);
        BUBBLESCOPE_ASSIGN(perfetto::PacketFile made, perfetto::PacketFile::create(path));
        file.file = std::move(made);
        removeOld(sender, name, path);
    }
    return file.file->append(bytes);
}

std::filesystem::path StreamStore::pathOf(const std::string& sender, const std::string& name) const {
    // A host may record several jobs into several folders, with equal names in them.
    const std::filesystem::path stream(name);
    const std::string folder = asFileName(stream.parent_path().filename().string());
    return dir_ / asFileName(sender) / folder / asFileName(stream.stem().string() + std::string(kTraceExtension));
}

void StreamStore::removeOld(const std::string& sender, const std::string& name, const std::filesystem::path& path) {
    const std::filesystem::path stream(name);
    std::deque<std::filesystem::path>& parts =
        parts_[{sender, (stream.parent_path() / withoutPart(stream.stem().string())).string()}];
    if (std::ranges::find(parts, path) == parts.end()) parts.push_back(path);
    if (parts.size() <= kParts) return;
    std::error_code ignored; // someone may have removed it
    std::filesystem::remove(parts.front(), ignored);
    parts.pop_front();
}

Result<StreamReceiver> StreamReceiver::open(Options options) {
    if (options.token.empty()) return usageError("a collector needs a token", "give --token-file FILE");
    StreamReceiver receiver(std::move(options));
    BUBBLESCOPE_ASSIGN(receiver.listener_, net::Listener::open(receiver.options_.address));
    receiver.events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    if (!receiver.events_.isOpen() ||
        ::epoll_ctl(receiver.events_.get(), EPOLL_CTL_ADD, receiver.listener_.descriptor(), &event) != 0) {
        return runError("the collector's socket cannot be watched");
    }
    return receiver;
}

void StreamReceiver::accept(TimeNs now) {
    const auto stranger = [](const Peer& peer) { return !peer.welcome; };
    auto strangers = std::ranges::count_if(peers_, stranger);
    while (peers_.size() < kMaxPeers) {
        net::Socket socket = listener_.accept();
        if (!socket.isOpen()) return;
        if (strangers == kMaxStrangers)
            peers_.erase(std::ranges::find_if(peers_, stranger));
        else
            ++strangers;
        std::unique_ptr<net::TlsSession> tls;
        if (options_.tls) {
            auto begun = options_.tls->begin();
            if (!begun.ok()) continue; // out of memory; the sender tries again
            tls = std::move(begun).value();
        }
        epoll_event event{};
        event.events = EPOLLIN;
        ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket.descriptor(), &event);
        peers_.push_back({net::Link(std::move(socket), std::move(tls)), ++accepted_, now, false, false, {}, {}, {}});
    }
}

void StreamReceiver::poll(LiveAnalyzer& analyzer, TimeNs now) {
    std::array<epoll_event, 64> ready{};
    [[maybe_unused]] const int ignored =
        ::epoll_wait(events_.get(), ready.data(), std::ssize(ready), 0); // all are asked
    accept(now);
    for (auto peer = peers_.begin(); peer != peers_.end();) {
        peer->link.poll([&](const net::Frame& frame) { take(*peer, frame, analyzer, now); });
        const bool stranger =
            !peer->welcome && (now - peer->since > kGreetWithin || peer->link.received() > kBeforeGreeting);
        peer = peer->link.ended() || stranger ? peers_.erase(peer) : std::next(peer);
    }
}

void StreamReceiver::finish(TimeNs longest) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + longest;
    listener_ = net::Listener();
    for (Peer& peer : peers_)
        peer.link.endAfterSending();
    while (!peers_.empty() && Clock::now() < until) {
        std::erase_if(peers_, [](Peer& peer) {
            if (!peer.link.ended()) peer.link.poll([](const net::Frame&) {});
            return peer.link.ended();
        });
        constexpr int kMilliseconds = 10; // queued data wakes nobody
        pollfd wait{events_.get(), POLLIN, 0};
        if (!peers_.empty()) ::poll(&wait, 1, kMilliseconds);
    }
}

void StreamReceiver::answer(Peer& peer, net::Frame::Kind kind, std::uint32_t stream, std::uint64_t offset) {
    net::Frame frame;
    frame.kind = kind;
    frame.stream = stream;
    frame.offset = offset;
    peer.link.send(frame);
}

void StreamReceiver::take(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer, TimeNs now) {
    if (!peer.welcome) return greet(peer, frame);
    switch (frame.kind) {
    case net::Frame::Kind::Open: openStream(peer, frame, analyzer); break;
    case net::Frame::Kind::Data: takeData(peer, frame, analyzer, now); break;
    case net::Frame::Kind::Gone:
        if (const Known* const known = knownOf(peer, frame.stream); known != nullptr && !known->finished)
            analyzer.gone(known->stream, peer.name + ": " + frame.text);
        break;
    case net::Frame::Kind::Finish:
        if (Known* const known = knownOf(peer, frame.stream); known != nullptr && !known->finished) {
            analyzer.close(known->stream);
            known->kept = {};
            known->finished = true;
        }
        break;
    case net::Frame::Kind::Ping: {
        net::Frame pong = frame;
        pong.kind = net::Frame::Kind::Pong;
        pong.text.clear();
        pong.times[1] = pong.times[2] = now;
        peer.link.send(pong);
        break;
    }
    case net::Frame::Kind::Pong: // measured by the sender
        if (!peer.clock.empty() && !options_.clock.empty()) {
            const TimeNs back{static_cast<std::int64_t>(frame.offset)};
            analyzer.clocks().addPing(peer.clock, options_.clock,
                                      {0, 0, frame.times[0], frame.times[1], frame.times[2], back});
        }
        break;
    default: break;
    }
}

void StreamReceiver::greet(Peer& peer, const net::Frame& frame) {
    if (peer.refused) return;
    std::string_view text = frame.text;
    const bool right = frame.kind == net::Frame::Kind::Hello && net::equalSecrets(takeLine(text), options_.token);
    if (!right) {
        ++refused_;
        peer.refused = true;
        net::Frame refusal;
        refusal.kind = net::Frame::Kind::Refused;
        refusal.text = "the token is wrong";
        peer.link.send(refusal);
        peer.link.endAfterSending();
        return;
    }
    peer.name = takeLine(text);
    peer.clock = takeLine(text);
    peer.welcome = true;
    answer(peer, net::Frame::Kind::Welcome, 0, 0);
}

StreamReceiver::Known* StreamReceiver::knownOf(const Peer& peer, std::uint32_t stream) {
    const auto key = peer.streams.find(stream);
    if (key == peer.streams.end()) return nullptr;
    const auto known = known_.find(key->second);
    // A sender that reconnected took its streams along; the old connection may not have been detected as dead yet.
    return known != known_.end() && known->second.owner == peer.number ? &known->second : nullptr;
}

void StreamReceiver::openStream(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer) {
    const std::int64_t generation = frame.times[0].count();
    const Key key{peer.name, frame.text};
    if (known_.size() >= kMaxStreams && !known_.contains(key)) return;
    const auto [entry, is_new] = known_.try_emplace(key);
    Known& known = entry->second;
    if (is_new) {
        known.stream = analyzer.open(frame.text);
    } else if (known.generation != generation) {
        if (known.finished) known.stream = analyzer.open(frame.text);
        analyzer.restart(known.stream);
        known.kept = {};
        known.finished = false;
        known.offset = 0;
    }
    known.generation = generation;
    known.owner = peer.number;
    peer.streams[frame.stream] = key;
    answer(peer, net::Frame::Kind::Resume, frame.stream, known.offset);
}

void StreamReceiver::takeData(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer, TimeNs now) {
    Known* const known = knownOf(peer, frame.stream);
    if (known == nullptr || known->finished) return;
    if (frame.offset > known->offset) return answer(peer, net::Frame::Kind::Resume, frame.stream, known->offset);
    const std::uint64_t twice = std::min<std::uint64_t>(known->offset - frame.offset, frame.text.size());
    repeated_ += static_cast<std::int64_t>(twice);
    const std::string_view fresh = std::string_view(frame.text).substr(static_cast<std::size_t>(twice));
    analyzer.feed(known->stream, fresh, now);
    if (kept_) {
        const bool known_kind = analyzer.statementOf(known->stream).has_value();
        const Key& key = peer.streams.at(frame.stream);
        kept_->feed(known->kept, key.first, key.second, fresh,
                    known_kind ? std::optional(analyzer.isCaptured(known->stream)) : std::nullopt);
    }
    known->offset += frame.text.size() - twice;
    answer(peer, net::Frame::Kind::Ack, frame.stream, known->offset);
}

} // namespace bubblescope::live
