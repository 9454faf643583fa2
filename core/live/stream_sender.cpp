#include "core/live/stream_sender.h"

#include "core/formats/perfetto/packet.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kBeginning = std::size_t{1} << 16; ///< bytes at the start of a file, which identify its writer
constexpr std::size_t kUnderWay = std::size_t{1} << 22;  ///< bytes queued for the network
/// Size of one message, which is lost if the connection breaks, and of a file's part before others are read.
constexpr std::size_t kPiece = std::size_t{1} << 16;
constexpr int kPingBurst = 8;

/// The offset at which the complete packets at the beginning of the bytes end. Bytes that are not a packet are sent
/// together with the following ones: the collector resynchronises.
std::size_t endOfPackets(std::string_view bytes) {
    std::size_t end = 0;
    std::string_view body;
    for (std::size_t next = 0; next < bytes.size();) {
        const auto ended = perfetto::takeFrame(bytes, next, body);
        if (!ended) {
            end = next;
        } else if (*ended == perfetto::PacketBatch::End::Cut) {
            break;
        } else {
            ++next;
        }
    }
    return end;
}

} // namespace

/// One file. Its start is also decoded here, to identify its writer.
struct StreamSender::Source final : public RecordSink {
    Source(std::string path, perfetto::StreamMemory& of_all) : name(std::move(path)), memory(of_all) { begin(); }

    void begin() {
        records = std::make_unique<RecordStream>(*this, memory);
        statement.reset();
        ended = gone = opened = resumed = false;
        generation = read = sent = acked = 0;
        step = -1;
        stands.clear();
        unsplit.clear();
        rewind.reset();
        exit_reason.clear();
        unkept_until.reset();
    }

    /// The file has been decoded up to the offset `behind`. If there are too many entries, because long runs have many
    /// steps, drops every other one.
    void noteStep(std::uint64_t behind) {
        constexpr std::size_t kMostStands = std::size_t{1} << 14;
        if (!stands.empty() && stands.back().second == step) return;
        stands.emplace_back(behind, step);
        if (stands.size() < kMostStands) return;
        for (std::size_t i = 0; i < kMostStands / 2; ++i)
            stands[i] = stands[2 * i + 1];
        stands.resize(kMostStands / 2);
    }

    void onRun(const RecordOwner&, const RunStatement& run) override { statement = run; }
    void onOp(const RecordOwner&, const FoundOp& op) override { step = std::max<std::int64_t>(step, op.step); }
    void onComm(const RecordOwner&, const FoundComm&) override {}
    void onCheck(const RecordOwner&, SeenCheck) override {}
    void onDigest() override {}
    void onPing(const Ping&) override {}
    void onClocks(const perfetto::ClockReading& clocks) override {
        // Distinguishes two files with the same name by the time when the host began to write them.
        if (generation == 0) generation = static_cast<std::uint64_t>(clocks.realtime.count()) | 1U;
    }
    void onLost(const RecordOwner&, std::int64_t) override {}
    void onEnd(const RecordOwner&, const StreamEnd&) override { ended = true; }
    void onCaptured(const CaptureStatement& captured) override { statement = captured.writer; }
    void onCaptureLosses(std::int64_t) override {}
    void onCaptureEnd() override { ended = true; }
    void onCaptureRank(int) override {}
    void onCaptureStands(std::string_view, TimeNs) override {}
    void onOther() override {}

    std::string name;
    perfetto::StreamMemory& memory;
    std::unique_ptr<RecordStream> records;
    std::optional<RunStatement> statement;
    bool ended = false;  ///< true if the file contains the end record
    bool gone = false;   ///< true if its writer has exited
    bool opened = false; ///< on this connection
    bool resumed = false;
    std::uint64_t generation = 0;
    std::int64_t step = -1; ///< latest decoded step
    std::vector<std::pair<std::uint64_t, std::int64_t>>
        stands;              ///< per piece, the offset up to which it was decoded and the step there
    std::uint64_t read = 0;  ///< number of bytes decoded so far
    std::uint64_t sent = 0;  ///< offset of the first byte not sent
    std::uint64_t acked = 0; ///< offset of the first byte that has not arrived
    std::string unsplit;     ///< bytes from `sent` on that are not a complete packet yet
    std::optional<std::int64_t> rewind;
    std::string exit_reason;            ///< reason that must still be sent
    std::optional<TimeNs> unkept_until; ///< time at which to resend data that the collector could not store
};

StreamSender::StreamSender(Options options) : options_(std::move(options)) {}
StreamSender::~StreamSender() = default;

Status StreamSender::poll(TimeNs now) {
    if (refused_) return *refused_;
    if (!acknowledged_at_) acknowledged_at_ = now;
    if (!link_) connect(now);
    if (!link_) return {};
    tryUnkept(now);
    if (welcome_) {
        for (std::size_t stream = 0; stream < sources_.size(); ++stream)
            openAtReceiver(stream);
        if (now >= ping_at_) ping(now);
    }
    link_->poll([&](const net::Frame& frame) { take(frame, now); });
    if (link_->ended()) {
        done_ = link_->reason().empty() && allArrived();
        disconnect(now);
    }
    return refused_ ? Status(*refused_) : Status();
}

/// Connects, or continues an attempt to connect.
void StreamSender::connect(TimeNs now) {
    if (!connector_) {
        if (now < retry_at_) return;
        retry_at_ = now + options_.retry;
        done_ = false;
        connector_.emplace(options_.address);
    }
    switch (connector_->poll()) {
    case net::Connector::Stage::UnderWay: return;
    case net::Connector::Stage::Connected: beginLink(connector_->take()); break;
    case net::Connector::Stage::Failed:
        retry_at_ = now + options_.retry;
        problem_ = connector_->unknownHost()
                       ? fmt::format("{}: unknown address: {}", options_.address.text(), connector_->reason())
                       : connector_->reason();
        break;
    }
    connector_.reset();
}

void StreamSender::beginLink(net::Socket socket) {
    std::optional<net::TlsSession> tls;
    if (options_.tls) {
        auto begun = options_.tls->begin();
        if (!begun.ok()) {
            problem_ = begun.error().text();
            return;
        }
        tls = std::move(begun).value();
    }
    link_.emplace(std::move(socket), std::move(tls));
    applicant_.emplace(options_.token, fmt::format("{}\n{}", options_.name, options_.clock));
}

int StreamSender::descriptor() const {
    if (link_) return link_->descriptor();
    return connector_ ? connector_->descriptor() : -1;
}

void StreamSender::disconnect(TimeNs now) {
    problem_ = link_->reason().empty() ? "the monitor closed the connection" : link_->reason();
    link_.reset();
    welcome_ = false;
    retry_at_ = now + options_.retry;
    for (const auto& source : sources_) {
        if (!source) continue;
        source->opened = source->resumed = false;
        source->unkept_until.reset();
    }
}

void StreamSender::tryUnkept(TimeNs now) {
    for (const auto& source : sources_) {
        if (!source || !source->unkept_until || now < *source->unkept_until) continue;
        source->unkept_until.reset();
        source->resumed = true;
    }
}

void StreamSender::openAtReceiver(std::size_t stream) {
    Source* const source = sources_[stream].get();
    if (source == nullptr || !source->statement || isForeign(*source)) return;
    net::Frame frame;
    frame.stream = static_cast<std::uint32_t>(stream);
    if (!source->opened) {
        frame.kind = net::Frame::Kind::Open;
        frame.times[0] = TimeNs{static_cast<std::int64_t>(source->generation)};
        frame.text = source->name;
        link_->send(frame);
        source->opened = true;
    }
    // The exit is reported after all data of the process, and not for a file that contains the end record itself.
    if (source->exit_reason.empty() || source->ended || !isThrough(stream)) return;
    frame.kind = net::Frame::Kind::Gone;
    frame.text = std::exchange(source->exit_reason, {});
    link_->send(frame);
}

void StreamSender::ping(TimeNs now) {
    if (pings_left_ == 0) pings_left_ = kPingBurst;
    --pings_left_;
    ping_at_ = now + options_.ping; // the next ping of a burst follows after the reply
    net::Frame frame;
    frame.kind = net::Frame::Kind::Ping;
    frame.times[0] = now;
    link_->send(frame);
}

void StreamSender::setAcknowledged(Source& source, std::uint64_t offset, TimeNs now) {
    if (std::exchange(source.acked, offset) != offset) acknowledged_at_ = now;
}

void StreamSender::take(const net::Frame& frame, TimeNs now) {
    const auto index = static_cast<std::size_t>(frame.stream);
    Source* const source = index < sources_.size() ? sources_[index].get() : nullptr;
    switch (frame.kind) {
    case net::Frame::Kind::Challenge:
        if (auto hello = applicant_->answer(frame); hello.ok()) link_->send(hello.value());
        break;
    case net::Frame::Kind::Welcome:
        if (!applicant_->trusts(frame)) {
            refused_ = runError("the other side does not have the token", "check the address");
            refused_->where = options_.address.text();
            break;
        }
        welcome_ = true;
        problem_.clear();
        ping_at_ = now;
        break;
    case net::Frame::Kind::Refused:
        refused_ = runError("the monitor refused: " + frame.text, "check the token");
        refused_->where = options_.address.text();
        break;
    case net::Frame::Kind::Resume:
        if (source == nullptr || !source->opened || !std::in_range<std::int64_t>(frame.offset)) break; // not a file's
        source->resumed = true;
        source->sent = frame.offset;
        setAcknowledged(*source, frame.offset, now);
        source->unsplit.clear();
        source->rewind = static_cast<std::int64_t>(frame.offset);
        break;
    case net::Frame::Kind::Ack:
        if (source == nullptr || frame.offset > source->sent) break;
        if (frame.offset > source->acked && std::exchange(unkept_since_, std::nullopt)) problem_.clear();
        setAcknowledged(*source, std::max(source->acked, frame.offset), now);
        break;
    case net::Frame::Kind::Unkept:
        if (source == nullptr || !source->opened || frame.offset > source->sent) break;
        source->resumed = false;
        source->unkept_until = now + options_.retry;
        source->sent = frame.offset;
        setAcknowledged(*source, frame.offset, now);
        source->unsplit.clear();
        source->rewind = static_cast<std::int64_t>(frame.offset);
        if (!unkept_since_) unkept_since_ = now;
        problem_ = "the monitor cannot store the records: " + frame.text;
        break;
    case net::Frame::Kind::Pong: {
        net::Frame measured = frame; // for the collector, which compares the clocks
        measured.kind = net::Frame::Kind::Pong;
        measured.offset = static_cast<std::uint64_t>(now.count());
        link_->send(measured);
        if (pings_left_ > 0) ping(now);
        break;
    }
    default: break;
    }
}

StreamSender::Stream StreamSender::open(const std::string& name) {
    sources_.push_back(
        std::make_unique<Source>(name, stream_memory_)); // numbers are not reused, because the other end remembers them
    return sources_.size() - 1;
}

void StreamSender::feed(Stream stream, std::string_view bytes, TimeNs) {
    Source& source = *sources_[stream];
    const std::uint64_t offset = source.sent + source.unsplit.size();
    const std::uint64_t behind = offset + bytes.size();
    if (behind > source.read) { // bytes read again were decoded already
        source.records->feed(bytes.substr(static_cast<std::size_t>(source.read > offset ? source.read - offset : 0)));
        source.read = behind;
        source.noteStep(behind);
    }
    source.unsplit += bytes;
    if (!source.resumed || !link_) return;
    const std::size_t whole = endOfPackets(source.unsplit);
    for (std::size_t at = 0; at < whole; at += kPiece) {
        net::Frame frame;
        frame.kind = net::Frame::Kind::Data;
        frame.stream = static_cast<std::uint32_t>(stream);
        frame.offset = source.sent;
        frame.text = source.unsplit.substr(at, std::min(kPiece, whole - at));
        source.sent += frame.text.size();
        link_->send(frame);
    }
    source.unsplit.erase(0, whole);
}

std::size_t StreamSender::pending(Stream stream) const {
    return sources_[stream]->unsplit.size();
}

void StreamSender::dropPending(Stream stream) {
    Source& source = *sources_[stream];
    source.records->dropPending();
    source.unsplit.clear();
    source.read = std::min(source.read, source.sent);
}

void StreamSender::restart(Stream stream) {
    sources_[stream]->begin();
}

void StreamSender::close(Stream stream) {
    if (link_ && sources_[stream]->resumed) {
        net::Frame frame;
        if (!sources_[stream]->exit_reason.empty() && !sources_[stream]->ended) {
            frame.kind = net::Frame::Kind::Gone;
            frame.stream = static_cast<std::uint32_t>(stream);
            frame.text = std::exchange(sources_[stream]->exit_reason, {});
            link_->send(frame);
            frame.text.clear();
        }
        frame.kind = net::Frame::Kind::Finish;
        frame.stream = static_cast<std::uint32_t>(stream);
        frame.offset = sources_[stream]->sent;
        link_->send(frame);
    }
    sources_[stream].reset();
}

void StreamSender::gone(Stream stream, const std::string& reason) {
    sources_[stream]->exit_reason = reason;
    sources_[stream]->gone = true;
}

std::optional<RunStatement> StreamSender::statementOf(Stream stream) const {
    return sources_[stream]->statement;
}

std::size_t StreamSender::room(Stream stream) const {
    const Source& source = *sources_[stream];
    if (!source.statement) return source.read < kBeginning ? kBeginning - source.read : 0;
    if (!source.resumed || !link_ || link_->waiting() > kUnderWay) return 0;
    return kPiece;
}

std::optional<std::int64_t> StreamSender::takeRewind(Stream stream) {
    return std::exchange(sources_[stream]->rewind, std::nullopt);
}

bool StreamSender::isThrough(Stream stream) const {
    const Source& source = *sources_[stream];
    // Data that was read before and must be sent again has not arrived, either.
    return source.resumed && !source.rewind && source.acked == source.sent && source.unsplit.empty() &&
           source.acked >= source.read;
}

std::int64_t StreamSender::stepOf(Stream stream) const {
    const Source& source = *sources_[stream];
    const std::uint64_t next = source.sent + source.unsplit.size(); // less than what was decoded if it is sent again
    const auto behind = std::ranges::partition_point(source.stands, [&](const auto& at) { return at.first <= next; });
    return behind == source.stands.begin() ? -1 : std::prev(behind)->second;
}

bool StreamSender::isForeign(const Source& source) const {
    return options_.only_own && source.statement && source.statement->clock != options_.clock;
}

bool StreamSender::done() const {
    return link_ ? link_->waiting() == 0 && allArrived() : done_;
}

bool StreamSender::hasEnded() const {
    const auto over = [this](const auto& source) {
        return !source || isForeign(*source) || source->ended || source->gone;
    };
    return !sources_.empty() && std::ranges::all_of(sources_, over);
}

std::uint64_t StreamSender::unacknowledged() const {
    std::uint64_t bytes = 0;
    for (const auto& source : sources_) {
        if (source && !isForeign(*source)) bytes += source->read - std::min(source->read, source->acked);
    }
    return bytes;
}

bool StreamSender::allArrived() const {
    bool any = false;
    for (std::size_t stream = 0; stream < sources_.size(); ++stream) {
        if (!sources_[stream]) continue;
        const Source& source = *sources_[stream];
        if (isForeign(source)) continue;
        any = true;
        const bool told_gone = source.gone && source.exit_reason.empty();
        if ((!source.ended && !told_gone) || !isThrough(stream)) return false;
    }
    return any;
}

} // namespace bubblescope::live
