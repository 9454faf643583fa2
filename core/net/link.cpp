#include "core/net/link.h"

#include <isa-l/crc.h>

#include <array>
#include <string_view>
#include <utility>

namespace bubblescope::net {
namespace {

/// Precedes the text.
struct Head {
    std::uint32_t length = 0; ///< length of the text
    std::uint32_t sum = 0;    ///< checksum of this head, with 0 in this field
    std::uint32_t text_sum = 0;
    Frame::Kind kind{};
    std::uint32_t stream = 0;
    std::uint64_t offset = 0;
    std::array<TimeNs, 3> times{};
};
constexpr std::size_t kHeadBytes = 3 * 4 + 1 + 4 + 8 + 3 * 8;

template <class Wire>
void fields(Wire& wire, Head& value) {
    auto& [length, sum, text_sum, kind, stream, offset, times] = value;
    wire(length, sum, text_sum, kind, stream, offset, times);
}

std::uint32_t sumOf(std::string_view bytes) {
    return ::crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string bytesOf(const Head& head) {
    WireWriter out;
    out(head);
    return out.take();
}

/// Error: Input if these are the first bytes of another protocol.
Status checkBeginning(std::string_view bytes) {
    std::uint32_t length = 0;
    WireReader in(bytes);
    in(length);
    if (length > FrameReader::kLongestText)
        return inputError("the connection", "received data that is not a Bubblescope message");
    return {};
}

/// Error: Input if these bytes are not a head.
Result<Head> headIn(std::string_view bytes) {
    BUBBLESCOPE_TRY(checkBeginning(bytes));
    Head head;
    WireReader in(bytes.substr(0, kHeadBytes));
    in(head);
    Head unsummed = head;
    unsummed.sum = 0;
    if (in.failed() || head.sum != sumOf(bytesOf(unsummed)))
        return inputError("the connection", "a message is corrupt, or comes from another version");
    if (head.kind > Frame::kLast)
        return inputError("the connection", "a message has an unknown type", "use the same version on both sides");
    return head;
}

/// Error: Input if the text does not match its checksum.
Result<Frame> frameOf(const Head& head, std::string text) {
    if (head.text_sum != sumOf(text))
        return inputError("the connection", "a message is corrupt, or comes from another version");
    return Frame{head.kind, head.stream, head.offset, head.times, std::move(text)};
}

} // namespace

std::string encode(const Frame& frame) {
    Head head{static_cast<std::uint32_t>(frame.text.size()),
              0,
              sumOf(frame.text),
              frame.kind,
              frame.stream,
              frame.offset,
              frame.times};
    head.sum = sumOf(bytesOf(head));
    std::string out;
    out.reserve(kHeadBytes + frame.text.size());
    out += bytesOf(head);
    out += frame.text;
    return out;
}

Result<std::optional<Frame>> FrameReader::next() {
    const std::string_view rest = std::string_view(pending_).substr(taken_);
    BUBBLESCOPE_TRY(checkBeginning(rest));
    if (rest.size() >= kHeadBytes) {
        BUBBLESCOPE_ASSIGN(const Head head, headIn(rest));
        if (rest.size() - kHeadBytes >= head.length) {
            taken_ += kHeadBytes + head.length;
            BUBBLESCOPE_ASSIGN(Frame frame, frameOf(head, std::string(rest.substr(kHeadBytes, head.length))));
            return std::optional<Frame>(std::move(frame));
        }
    }
    constexpr std::size_t kReused = std::size_t{1} << 17; // a larger buffer is freed
    pending_.erase(0, taken_);
    taken_ = 0;
    if (pending_.empty() && pending_.capacity() > kReused) std::string().swap(pending_);
    return std::optional<Frame>();
}

Result<Frame> readFrame(Socket& socket, Deadline deadline) {
    const auto read = [&](std::string& bytes) -> Status {
        switch (socket.read(bytes.data(), bytes.size(), deadline)) {
        case Socket::Outcome::Done: return {};
        case Socket::Outcome::TimedOut: return runError("the other side is not responding");
        case Socket::Outcome::Closed: break;
        }
        return runError("the other side closed the connection");
    };
    std::string bytes(kHeadBytes, '\0');
    BUBBLESCOPE_TRY(read(bytes));
    BUBBLESCOPE_ASSIGN(const Head head, headIn(bytes));
    std::string text(head.length, '\0');
    BUBBLESCOPE_TRY(read(text));
    return frameOf(head, std::move(text));
}

void Link::fail(std::string reason) {
    ended_ = true;
    reason_ = std::move(reason);
}

void Link::send(const Frame& frame) {
    if (ended_ || draining_) return;
    const std::string bytes = encode(frame);
    if (!tls_) {
        out_ += bytes;
        return;
    }
    const Status said = tls_->say(bytes);
    if (!said.ok()) return fail(said.error().text());
    out_ += tls_->takeBytes();
}

void Link::poll(const std::function<void(const Frame&)>& take, int reads) {
    if (!ended_) readSome(take, reads);
    flush();
}

void Link::flush() {
    if (!ended_ && tls_) out_ += tls_->takeBytes();
    if (!ended_) sendSome();
    if (!draining_ || shut_down_ || ended_ || waiting() > 0) return;
    shut_down_ = true;
    if (!socket_.shutdownWrite()) ended_ = true;
}

void Link::sendSome() {
    while (waiting() > 0) {
        const Socket::Progress progress = socket_.writeSome(std::string_view(out_).substr(sent_));
        if (progress.ended) return fail(progress.reason.message());
        if (progress.bytes == 0) break;
        sent_ += progress.bytes;
    }
    if (sent_ < out_.size() / 2) return; // it is not worthwhile yet to move the waiting bytes
    out_.erase(0, sent_);
    sent_ = 0;
}

void Link::readSome(const std::function<void(const Frame&)>& take, int reads) {
    std::array<char, 1 << 16> buffer;
    std::string said;
    for (int i = 0; i < reads && !ended_; ++i) {
        const Socket::Progress progress = socket_.readSome(buffer.data(), buffer.size());
        if (progress.ended) {
            ended_ = true;
            if (progress.reason) reason_ = progress.reason.message();
            return;
        }
        if (progress.bytes == 0) return;
        received_ += progress.bytes;
        if (draining_) continue; // data from the other end is ignored
        const std::string_view came(buffer.data(), progress.bytes);
        if (tls_) {
            said.clear();
            const Status read = tls_->receive(came, said);
            if (!read.ok()) return fail(read.error().text());
            frames_.feed(said);
        } else {
            frames_.feed(came);
        }
        while (!ended_) {
            auto frame = frames_.next();
            if (!frame.ok()) return fail(frame.error().text());
            if (!frame.value()) break;
            take(*frame.value());
        }
    }
}

} // namespace bubblescope::net
