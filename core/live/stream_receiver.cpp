#include "core/live/stream_receiver.h"

#include "core/base/field.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kMaxPeers = 4096;
constexpr std::size_t kMaxStreams = std::size_t{1} << 17;
constexpr std::size_t kMaxStreamsOfPeer = std::size_t{1} << 14;
constexpr std::size_t kLongestName = 1024; ///< maximum length of the names of senders, clocks and streams
constexpr std::size_t kMaxWaiting = std::size_t{1}
                                    << 18; ///< bytes queued for a sender, above which nothing is read from it
constexpr TimeNs kStuckFor{std::chrono::minutes(1)};

std::string_view takeLine(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::size_t bytesOf(const std::pair<std::string, std::string>& key) {
    return key.first.size() + key.second.size();
}

} // namespace

Result<StreamReceiver> StreamReceiver::open(Options options) {
    if (options.token.empty())
        return usageError("a monitor needs a token", fmt::format("specify {}", Field("token_file").is("FILE")));
    if (!options.tls && !options.insecure)
        BUBBLESCOPE_TRY(net::mustBeLoopback(
            options.address, fmt::format("{} and {}", Field("certificate").is("FILE"), Field("key").is("FILE"))));
    BUBBLESCOPE_ASSIGN(net::Listener listener, net::Listener::open(options.address));
    BUBBLESCOPE_ASSIGN(net::Admission admission,
                       net::Admission::open(std::move(listener), {options.token, "the token is wrong", options.tls}));
    StreamReceiver receiver(std::move(options), std::move(admission));
    receiver.events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!receiver.events_.isOpen() || !receiver.watch(receiver.admission_.descriptor(), nullptr))
        return runError("cannot watch the monitor's socket");
    return receiver;
}

bool StreamReceiver::watch(int descriptor, Peer* peer) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = peer;
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void StreamReceiver::letIn(net::Admission::Admitted sender) {
    Peer& peer = peers_.emplace_back(Peer{std::move(sender.link), ++accepted_, std::move(sender.address)});
    watch(peer.link.descriptor(), &peer);
    std::string_view statement = sender.statement;
    peer.name = takeLine(statement).substr(0, kLongestName);
    peer.clock = takeLine(statement).substr(0, kLongestName);
    if (const auto away = away_.find(peer.name); away != away_.end()) {
        away->second.news.back = true;
        if (away->second.told) back_.push_back(std::move(away->second.news));
        away_.erase(away);
    }
    peer.link.send(sender.welcome);
}

void StreamReceiver::poll(LiveAnalyzer& analyzer, TimeNs now) {
    std::array<epoll_event, 512> ready{}; // if there are more, they are returned by the next call
    const int count = ::epoll_wait(events_.get(), ready.data(), std::ssize(ready), 0);
    for (int i = 0; i < count; ++i) {
        if (auto* const peer = static_cast<Peer*>(ready[static_cast<std::size_t>(i)].data.ptr)) peer->readable = true;
    }
    for (net::Admission::Admitted& sender : admission_.poll(now, kMaxPeers - peers_.size()))
        letIn(std::move(sender));
    for (auto peer = peers_.begin(); peer != peers_.end();) {
        // A job has more than a thousand senders, most of which are idle, so polling each for bytes would take long.
        if (std::exchange(peer->readable, false) || peer->link.waiting() > 0) serve(*peer, analyzer, now);
        if (!isOver(*peer, now)) {
            ++peer;
            continue;
        }
        noteLeft(*peer, now);
        forget(peer++);
    }
    endLargest(now);
}

/// Ends connections while all of them together exceed the limit. Senders need little, because they send small messages.
void StreamReceiver::endLargest(TimeNs now) {
    std::size_t held = 0;
    for (const Peer& peer : peers_)
        held += peer.link.held();
    while (held > options_.limits.held) {
        const auto largest = std::ranges::max_element(peers_, {}, [](const Peer& peer) { return peer.link.held(); });
        held -= largest->link.held();
        ++too_large_;
        noteLeft(*largest, now);
        forget(largest);
    }
}

void StreamReceiver::forget(std::list<Peer>::iterator peer) {
    numbered_ -= peer->streams.size();
    peers_.erase(peer);
}

void StreamReceiver::noteLeft(const Peer& peer, TimeNs now) {
    constexpr std::size_t kMaxAway = 1024;
    if (peer.streams.empty()) return;
    if (away_.size() >= kMaxAway && !away_.contains(peer.name))
        away_.erase(std::ranges::min_element(away_, {}, [](const auto& one) { return one.second.since; }));
    away_[peer.name] = {{peer.name, peer.address, peer.link.reason(), 0, false}, now, false};
}

std::size_t StreamReceiver::openStreamsOf(const std::string& sender, const LiveAnalyzer& analyzer) const {
    std::size_t open = 0;
    for (auto known = known_.lower_bound({sender, {}}); known != known_.end() && known->first.first == sender; ++known)
        open += known->second.finished || analyzer.streamEnded(known->second.stream) ? 0 : 1;
    return open;
}

std::vector<StreamReceiver::SenderNews> StreamReceiver::takeNews(const LiveAnalyzer& analyzer, TimeNs now,
                                                                 TimeNs patience) {
    std::vector<SenderNews> news(back_.begin(), back_.end());
    back_.clear();
    for (auto away = away_.begin(); away != away_.end();) {
        Away& sender = away->second;
        if (!sender.told && now - sender.since >= patience) {
            sender.news.streams = openStreamsOf(away->first, analyzer);
            if (sender.news.streams == 0) {
                away = away_.erase(away);
                continue;
            }
            sender.told = true;
            news.push_back(sender.news);
        }
        ++away;
    }
    return news;
}

void StreamReceiver::serve(Peer& peer, LiveAnalyzer& analyzer, TimeNs now) {
    if (peer.link.waiting() > kMaxWaiting)
        peer.link.flush();
    else
        peer.link.poll([&](const net::Frame& frame) { take(peer, frame, analyzer, now); });
    most_waiting_ = std::max(most_waiting_, peer.link.waiting());
    if (peer.link.waiting() <= kMaxWaiting)
        peer.stuck_since.reset();
    else if (!peer.stuck_since)
        peer.stuck_since = now;
}

bool StreamReceiver::isOver(const Peer& peer, TimeNs now) {
    return peer.link.ended() || (peer.stuck_since && now - *peer.stuck_since > kStuckFor);
}

void StreamReceiver::finish(TimeNs longest) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + longest;
    admission_.close();
    for (Peer& peer : peers_)
        peer.link.endAfterSending();
    while (!peers_.empty() && Clock::now() < until) {
        std::erase_if(peers_, [](Peer& peer) {
            if (!peer.link.ended()) peer.link.poll([](const net::Frame&) {});
            return peer.link.ended();
        });
        constexpr int kMilliseconds = 10; // because queued data does not wake this thread
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
            if (kept_) kept_->end(known->kept);
            known->finished = true;
            finished_.push_back(known->key);
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
    case net::Frame::Kind::Pong: // the sender measures the time
        if (!peer.clock.empty() && !options_.clock.empty()) {
            const TimeNs back{static_cast<std::int64_t>(frame.offset)};
            analyzer.clocks().addPing(peer.clock, options_.clock,
                                      {0, 0, frame.times[0], frame.times[1], frame.times[2], back});
        }
        break;
    default: break;
    }
}

StreamReceiver::Known* StreamReceiver::knownOf(const Peer& peer, std::uint32_t stream) {
    const auto key = peer.streams.find(stream);
    if (key == peer.streams.end()) return nullptr;
    const auto known = known_.find(*key->second);
    // The sender has reconnected and taken over its streams; the old connection may not have been detected as lost yet.
    return known != known_.end() && known->second.owner == peer.number ? &known->second : nullptr;
}

/// Ended streams are remembered only so that none of their data is processed twice.
bool StreamReceiver::makeRoomForStream(std::size_t name_bytes) {
    const auto fits = [&] {
        return known_.size() < kMaxStreams && name_bytes_ + name_bytes <= options_.limits.name_bytes;
    };
    while (!fits() && !finished_.empty()) {
        const auto oldest = known_.find(*finished_.front());
        finished_.pop_front();
        if (oldest == known_.end() || !oldest->second.finished) continue;
        name_bytes_ -= bytesOf(oldest->first);
        known_.erase(oldest);
    }
    return fits();
}

void StreamReceiver::openStream(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer) {
    const std::int64_t generation = frame.times[0].count();
    const Key key{peer.name, frame.text};
    if (peer.streams.size() >= kMaxStreamsOfPeer) {
        numbered_ -= std::erase_if(peer.streams, [this](const auto& stream) {
            const auto known = known_.find(*stream.second);
            return known == known_.end() || known->second.finished;
        });
    }
    const bool has_number = peer.streams.contains(frame.stream) ||
                            (peer.streams.size() < kMaxStreamsOfPeer && numbered_ < options_.limits.streams);
    const bool fits =
        key.second.size() <= kLongestName && has_number && (known_.contains(key) || makeRoomForStream(bytesOf(key)));
    if (!fits) {
        ++unheard_;
        return;
    }
    const auto [entry, is_new] = known_.try_emplace(key);
    Known& known = entry->second;
    if (is_new) {
        known.key = std::make_shared<const Key>(key);
        name_bytes_ += bytesOf(key);
        known.stream = analyzer.open(frame.text);
    } else if (known.generation != generation) {
        if (known.finished) known.stream = analyzer.open(frame.text);
        analyzer.restart(known.stream);
        if (kept_) kept_->end(known.kept);
        known.finished = false;
        known.offset = known.stored = 0;
    }
    known.unkept = false;
    known.generation = generation;
    known.owner = peer.number;
    const auto [number, is_new_number] = peer.streams.insert_or_assign(frame.stream, known.key);
    numbered_ += is_new_number ? 1U : 0U;
    answer(peer, net::Frame::Kind::Resume, frame.stream, known.stored);
}

void StreamReceiver::takeData(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer, TimeNs now) {
    Known* const known = knownOf(peer, frame.stream);
    if (known == nullptr || known->finished) return;
    if (frame.offset > known->stored) {
        // The data was sent before the sender was informed that the preceding data was not stored.
        if (!known->unkept) answer(peer, net::Frame::Kind::Resume, frame.stream, known->stored);
        return;
    }
    const auto behind = [&](std::uint64_t offset) {
        const std::uint64_t known_here = std::min<std::uint64_t>(offset - frame.offset, frame.text.size());
        return std::string_view(frame.text).substr(static_cast<std::size_t>(known_here));
    };
    const std::string_view fresh = behind(known->offset);
    const std::string_view unstored = behind(known->stored);
    repeated_ += static_cast<std::int64_t>(frame.text.size() - unstored.size());
    const auto hear = [&] {
        analyzer.feed(known->stream, fresh, now);
        known->offset += fresh.size();
    };
    // Data of a recorded job is stored before it is analysed, except for the part that identifies the job.
    const bool heard_first = !analyzer.statementOf(known->stream).has_value();
    if (heard_first) hear();
    if (kept_) {
        const bool known_kind = analyzer.statementOf(known->stream).has_value();
        const Key& key = *known->key;
        const Status kept = kept_->feed(known->kept, key.first, key.second, unstored,
                                        known_kind ? std::optional(analyzer.isCaptured(known->stream)) : std::nullopt);
        known->unkept = !kept.ok();
        if (!kept.ok()) {
            net::Frame unkept;
            unkept.kind = net::Frame::Kind::Unkept;
            unkept.stream = frame.stream;
            unkept.offset = known->stored;
            unkept.text = kept.error().text();
            return peer.link.send(unkept);
        }
    }
    if (!heard_first) hear();
    known->stored += unstored.size();
    // Data that waits in memory for recognition has not been stored.
    answer(peer, net::Frame::Kind::Ack, frame.stream, known->stored - known->kept.beginning.size());
}

} // namespace bubblescope::live
