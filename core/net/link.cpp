#include "core/net/link.h"

#include <array>
#include <string_view>
#include <utility>

namespace bubblescope::net {

void Link::fail(std::string why) {
    over_ = true;
    why_ = std::move(why);
}

void Link::send(const Frame& frame) {
    if (over_ || ends_) return;
    const std::string bytes = encode(frame);
    if (!tls_) {
        out_ += bytes;
        return;
    }
    const Status said = tls_->say(bytes);
    if (!said.ok()) return fail(said.error().text());
    out_ += tls_->takeBytes();
}

void Link::turn(const std::function<void(const Frame&)>& take) {
    if (!over_) readSome(take);
    if (!over_ && tls_) out_ += tls_->takeBytes();
    if (!over_) sendSome();
    if (!ends_ || told_end_ || over_ || waiting() > 0) return;
    told_end_ = true;
    if (!socket_.endWriting()) over_ = true;
}

void Link::sendSome() {
    while (waiting() > 0) {
        const Socket::Progress progress = socket_.writeSome(std::string_view(out_).substr(sent_));
        if (progress.over) return fail(progress.why.message());
        if (progress.bytes == 0) return;
        sent_ += progress.bytes;
    }
    out_.clear();
    sent_ = 0;
}

void Link::readSome(const std::function<void(const Frame&)>& take) {
    constexpr int kReadsInTurn = 16; // then other links get their turn
    std::array<char, 1 << 16> buffer;
    std::string said;
    for (int i = 0; i < kReadsInTurn && !over_; ++i) {
        const Socket::Progress progress = socket_.readSome(buffer.data(), buffer.size());
        if (progress.over) {
            over_ = true;
            if (progress.why) why_ = progress.why.message();
            return;
        }
        if (progress.bytes == 0) return;
        received_ += progress.bytes;
        const std::string_view came(buffer.data(), progress.bytes);
        if (tls_) {
            said.clear();
            const Status read = tls_->receive(came, said);
            if (!read.ok()) return fail(read.error().text());
            frames_.feed(said);
        } else {
            frames_.feed(came);
        }
        while (!over_) {
            auto frame = frames_.next();
            if (!frame.ok()) return fail(frame.error().text());
            if (!frame.value()) break;
            take(*frame.value());
        }
    }
}

} // namespace bubblescope::net
