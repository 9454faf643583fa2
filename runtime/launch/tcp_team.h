#pragma once

#include "core/base/process_team.h"
#include "runtime/comm/control_channel.h"
#include "runtime/launch/tcp_control.h"
#include "runtime/launch/tcp_job.h"
#include "runtime/launch/team_socket.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope {

/// Processes that are connected by TCP, each with rank 0, which forwards messages between the others. Intended for the
/// data that a job exchanges besides tensors.
class TcpTeam final : public ProcessTeam, public runtime::ControlSource {
public:
    /// Waits until all processes of the job have connected. Errors: Run, naming the missing ones, after `patience` at
    /// the latest; Usage, if two jobs meet or processes disagree.
    [[nodiscard]] static Result<std::unique_ptr<TcpTeam>> join(const TcpJob& job, std::chrono::nanoseconds patience);

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return size_; }
    [[nodiscard]] Result<std::string> broadcast(std::string bytes) override;
    [[nodiscard]] Result<std::vector<std::string>> gather(std::string bytes) override;
    [[nodiscard]] Result<std::vector<std::string>> exchange(std::vector<std::string> to) override;

    /// May be called for several runs in sequence; a channel must be destroyed before the next one is opened.
    [[nodiscard]] Result<std::unique_ptr<runtime::ControlChannel>> openControl() override;

private:
    /// By rank on rank 0; other ranks have one, to rank 0.
    using Sockets = std::vector<TeamSocket>;

    TcpTeam(int rank, int size) : rank_(rank), size_(size) {}

    [[nodiscard]] Status acceptAll(const TcpJob& job, TeamSocket::Clock::time_point deadline);
    [[nodiscard]] Status connectToRoot(const TcpJob& job, TeamSocket::Clock::time_point deadline);
    [[nodiscard]] TeamSocket& to(int rank) { return talk_[static_cast<std::size_t>(isRoot() ? rank : 0)]; }

    int rank_;
    int size_;
    Sockets talk_;
    std::vector<ControlWay> control_;
};

} // namespace bubblescope
