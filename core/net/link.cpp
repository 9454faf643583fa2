#include "core/net/link.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
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
    if (::shutdown(socket_.get(), SHUT_WR) != 0) over_ = true;
}

void Link::sendSome() {
    while (waiting() > 0) {
        const ssize_t bytes = ::send(socket_.get(), out_.data() + sent_, waiting(), MSG_NOSIGNAL);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0 && (errno == EAGAIN || errno == ENOTCONN)) return;
        if (bytes < 0) return fail(std::strerror(errno));
        sent_ += static_cast<std::size_t>(bytes);
    }
    out_.clear();
    sent_ = 0;
}

void Link::readSome(const std::function<void(const Frame&)>& take) {
    constexpr int kReadsInTurn = 16; // then others have theirs
    std::array<char, 1 << 16> buffer;
    std::string said;
    for (int i = 0; i < kReadsInTurn && !over_; ++i) {
        const ssize_t bytes = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return;
        if (bytes < 0) return fail(std::strerror(errno));
        if (bytes == 0) {
            over_ = true;
            return;
        }
        received_ += static_cast<std::size_t>(bytes);
        const std::string_view came(buffer.data(), static_cast<std::size_t>(bytes));
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
