#include "core/net/link.h"

#include <isa-l/crc.h>

#include <array>
#include <string_view>
#include <utility>

namespace bubblescope::net {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kSumBytes = 4;
constexpr std::size_t kHeadBytes = 2 * kSumBytes + 1 + 4 + 8 + 3 * 8; ///< behind the length

template <class Number>
void put(std::string& out, Number value) {
    for (std::size_t byte = 0; byte < sizeof value; ++byte)
        out.push_back(static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * byte)) & 0xff));
}

template <class Number>
Number take(std::string_view& in) {
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < sizeof(Number); ++byte)
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[byte])) << (8 * byte);
    in.remove_prefix(sizeof(Number));
    return static_cast<Number>(value);
}

std::uint32_t sumOf(std::string_view bytes, std::uint32_t begin = 0) {
    return ::crc32_gzip_refl(begin, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

/// `head` begins with the length and ends before the text.
std::uint32_t sumOfHead(std::string_view head) {
    return sumOf(head.substr(kLengthBytes + kSumBytes), sumOf(head.substr(0, kLengthBytes)));
}

} // namespace

std::string encode(const Frame& frame) {
    std::string out;
    out.reserve(kLengthBytes + kHeadBytes + frame.text.size());
    put(out, static_cast<std::uint32_t>(kHeadBytes + frame.text.size()));
    put(out, std::uint32_t{0}); // the head's sum, below
    put(out, sumOf(frame.text));
    put(out, static_cast<std::uint8_t>(frame.kind));
    put(out, frame.stream);
    put(out, frame.offset);
    for (const TimeNs time : frame.times)
        put(out, time.count());
    std::string sum;
    put(sum, sumOfHead(out));
    out.replace(kLengthBytes, kSumBytes, sum);
    out += frame.text;
    return out;
}

Result<std::optional<Frame>> FrameReader::next() {
    std::string_view rest = std::string_view(pending_).substr(taken_);
    const auto wait = [this]() -> Result<std::optional<Frame>> {
        constexpr std::size_t kReused = std::size_t{1} << 17; // a larger buffer goes back
        pending_.erase(0, taken_);
        taken_ = 0;
        if (pending_.empty() && pending_.capacity() > kReused) std::string().swap(pending_);
        return std::optional<Frame>();
    };
    if (rest.size() < kLengthBytes) return wait();
    const std::string_view head = rest.substr(0, kLengthBytes + kHeadBytes);
    const auto length = take<std::uint32_t>(rest);
    if (length < kHeadBytes || length > kHeadBytes + kLongestText)
        return inputError("the connection", "what came is no message of Bubblescope's");
    if (rest.size() < kHeadBytes) return wait();
    const auto head_sum = take<std::uint32_t>(rest);
    const auto text_sum = take<std::uint32_t>(rest);
    constexpr std::string_view kDamaged = "a message was damaged on the way, or comes from another version";
    if (head_sum != sumOfHead(head)) return inputError("the connection", std::string(kDamaged));
    if (rest.size() < length - 2 * kSumBytes) return wait();
    rest = rest.substr(0, length - 2 * kSumBytes);
    taken_ += kLengthBytes + length;
    Frame frame;
    const auto kind = take<std::uint8_t>(rest);
    if (kind > static_cast<std::uint8_t>(Frame::kLast))
        return inputError("the connection", "a message is of an unknown kind", "use one version on both sides");
    frame.kind = static_cast<Frame::Kind>(kind);
    frame.stream = take<std::uint32_t>(rest);
    frame.offset = take<std::uint64_t>(rest);
    for (TimeNs& time : frame.times)
        time = TimeNs{take<std::int64_t>(rest)};
    frame.text = rest;
    if (text_sum != sumOf(frame.text)) return inputError("the connection", std::string(kDamaged));
    return std::optional<Frame>(std::move(frame));
}

bool equalSecrets(std::string_view a, std::string_view b) {
    unsigned difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
    return difference == 0;
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

void Link::poll(const std::function<void(const Frame&)>& take) {
    if (!ended_) readSome(take);
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
    if (sent_ < out_.size() / 2) return; // moving what waits is worth it
    out_.erase(0, sent_);
    sent_ = 0;
}

void Link::readSome(const std::function<void(const Frame&)>& take) {
    constexpr int kReadsInTurn = 16; // then other links get their turn
    std::array<char, 1 << 16> buffer;
    std::string said;
    for (int i = 0; i < kReadsInTurn && !ended_; ++i) {
        const Socket::Progress progress = socket_.readSome(buffer.data(), buffer.size());
        if (progress.ended) {
            ended_ = true;
            if (progress.reason) reason_ = progress.reason.message();
            return;
        }
        if (progress.bytes == 0) return;
        received_ += progress.bytes;
        if (draining_) continue; // the other end is not heard any more
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
