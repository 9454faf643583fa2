#pragma once

#include "runtime/comm/control_channel.h"
#include "runtime/launch/team_socket.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// A connection for control messages, and the bytes in transfer.
struct ControlWay {
    TeamSocket socket; ///< closed if there is no connection
    std::string out;
    std::string in;
};

/// Control messages over TCP. Messages between two other ranks go through rank 0, which forwards them whenever it polls
/// for its own.
class TcpControl final : public runtime::ControlChannel {
public:
    /// `ways` are rank 0's, by rank, or the one to rank 0. They must outlive the channel and carry nothing else.
    TcpControl(int rank, std::vector<ControlWay>& ways) : rank_(rank), ways_(ways) {}
    /// Sends pending bytes, as far as possible without waiting.
    ~TcpControl() override;

    void send(Rank to, const runtime::ControlMessage& message) override;
    [[nodiscard]] std::optional<Received> receive() override;

private:
    [[nodiscard]] ControlWay& wayTo(int rank);
    void flush(ControlWay& way);
    void fetch(ControlWay& way);
    void deliver(ControlWay& way);

    int rank_;
    std::vector<ControlWay>& ways_;
    std::deque<Received> inbox_;
};

} // namespace bubblescope
