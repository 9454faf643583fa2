#include "runtime/launch/tcp_control.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace bubblescope {
namespace {

struct Frame {
    std::int32_t from = 0;
    std::int32_t to = 0;
    runtime::ControlMessage message;
};
static_assert(std::is_trivially_copyable_v<Frame>);

} // namespace

TcpControl::~TcpControl() {
    for (ControlWay& way : ways_)
        flush(way);
}

ControlWay& TcpControl::wayTo(int rank) {
    return ways_[rank_ == 0 ? static_cast<std::size_t>(rank) : 0];
}

void TcpControl::send(Rank to, const runtime::ControlMessage& message) {
    const Frame frame{rank_, to.value, message};
    ControlWay& way = wayTo(to.value);
    way.out.append(reinterpret_cast<const char*>(&frame), sizeof frame);
    flush(way);
}

void TcpControl::flush(ControlWay& way) {
    while (way.socket.isOpen() && !way.out.empty()) {
        const auto count = way.socket.writeSome(way.out.data(), way.out.size());
        if (!count) way.socket.close();
        if (!count || *count == 0) break;
        way.out.erase(0, *count);
    }
    if (!way.socket.isOpen()) way.out.clear();
}

void TcpControl::fetch(ControlWay& way) {
    char piece[16 * sizeof(Frame)];
    while (way.socket.isOpen()) {
        const auto count = way.socket.readSome(piece, sizeof piece);
        if (!count) way.socket.close();
        if (!count || *count == 0) break;
        way.in.append(piece, *count);
    }
    deliver(way);
}

void TcpControl::deliver(ControlWay& way) {
    std::size_t at = 0;
    for (; way.in.size() - at >= sizeof(Frame); at += sizeof(Frame)) {
        Frame frame;
        std::memcpy(&frame, way.in.data() + at, sizeof frame);
        if (frame.to == rank_) {
            inbox_.push_back({Rank{frame.from}, frame.message});
        } else if (rank_ == 0 && frame.to > 0 && static_cast<std::size_t>(frame.to) < ways_.size()) {
            ControlWay& next = wayTo(frame.to);
            next.out.append(reinterpret_cast<const char*>(&frame), sizeof frame);
            flush(next);
        }
    }
    way.in.erase(0, at);
}

std::optional<runtime::ControlChannel::Received> TcpControl::receive() {
    if (inbox_.empty()) {
        for (ControlWay& way : ways_) {
            flush(way);
            fetch(way);
        }
    }
    if (inbox_.empty()) return std::nullopt;
    const Received received = inbox_.front();
    inbox_.pop_front();
    return received;
}

} // namespace bubblescope
