#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"
#include "core/net/admission.h"
#include "core/net/socket.h"
#include "runtime/comm/channels.h"
#include "runtime/launch/tcp_job.h"

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// A connection between two processes of a job. Each message arrives complete, or an error names the other end.
class TeamSocket {
public:
    using Clock = net::Clock;
    using Deadline = net::Deadline;

    TeamSocket() = default;
    explicit TeamSocket(net::Socket socket) : socket_(std::move(socket)) {}

    [[nodiscard]] bool isOpen() const { return socket_.isOpen(); }
    [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
    void close() { socket_.close(); }

    /// Sends all bytes. Errors name `who`.
    [[nodiscard]] Status write(const void* data, std::size_t bytes, const std::string& who, Deadline deadline = {});
    [[nodiscard]] Status read(void* data, std::size_t bytes, const std::string& who, Deadline deadline = {});
    /// Sends a string, preceded by its 64-bit length in native byte order.
    [[nodiscard]] Status writeText(const std::string& text, const std::string& who, Deadline deadline = {});
    /// Receives at most `most` bytes. Memory grows with the bytes that arrive, not with the announced length.
    [[nodiscard]] Result<std::string> readText(std::size_t most, const std::string& who, Deadline deadline = {});

    /// Does not wait. Returns the number of bytes, possibly 0; nothing if the connection is closed.
    [[nodiscard]] std::optional<std::size_t> writeSome(const void* data, std::size_t bytes);
    [[nodiscard]] std::optional<std::size_t> readSome(void* data, std::size_t bytes);

private:
    net::Socket socket_;
};

/// A connection for control messages, with the bytes in transit.
struct ControlConnection {
    TeamSocket socket; ///< closed if there is no connection
    std::string out;
    std::string in;
};

/// Control messages over TCP. Messages between two other ranks go through rank 0, which forwards them whenever it polls
/// for its own messages.
class TcpControl final : public runtime::ControlChannel {
public:
    /// On rank 0, `connections` is indexed by rank; on the other ranks there is only the connection to rank 0. The
    /// connections must outlive the channel and carry nothing else.
    TcpControl(int rank, std::vector<ControlConnection>& connections) : rank_(rank), connections_(connections) {}
    /// Sends as many of the pending bytes as possible without waiting.
    ~TcpControl() override;

    void send(Rank to, const runtime::ControlMessage& message) override;
    [[nodiscard]] std::optional<Received> receive() override;

private:
    [[nodiscard]] ControlConnection& connectionTo(int rank);
    void flush(ControlConnection& connection);
    void fetch(ControlConnection& connection);
    void deliver(ControlConnection& connection);

    int rank_;
    std::vector<ControlConnection>& connections_;
    std::deque<Received> inbox_;
};

/// Processes connected over TCP, each with rank 0, which forwards messages between the others. Intended for all data
/// that a job exchanges, except tensors.
class TcpTeam final : public ProcessTeam, public runtime::ControlSource {
public:
    /// Waits until all processes of the job have connected. Errors: Run after at most `patience`, naming the missing
    /// processes; Usage if processes belong to different jobs or versions.
    [[nodiscard]] static Result<std::unique_ptr<TcpTeam>> join(const TcpJob& job, std::chrono::nanoseconds patience);

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return size_; }
    [[nodiscard]] Result<std::string> broadcast(std::string bytes) override;
    [[nodiscard]] Result<std::vector<std::string>> gather(std::string bytes) override;
    [[nodiscard]] Result<std::vector<std::string>> exchange(std::vector<std::string> to) override;

    /// May be called for several runs in sequence; a channel must be destroyed before the next one is opened.
    [[nodiscard]] Result<std::unique_ptr<runtime::ControlChannel>> openControl() override;

private:
    /// Indexed by rank on rank 0; on other ranks only the connection to rank 0.
    using Sockets = std::vector<TeamSocket>;

    TcpTeam(int rank, int size) : rank_(rank), size_(size) {}

    [[nodiscard]] Status acceptAll(const TcpJob& job, TeamSocket::Clock::time_point deadline);
    [[nodiscard]] Status letIn(net::Admission::Admitted joiner, TeamSocket::Clock::time_point deadline);
    [[nodiscard]] Error missingRanks(const TcpJob& job) const;
    [[nodiscard]] Status connectToRoot(const TcpJob& job, TeamSocket::Clock::time_point deadline);
    [[nodiscard]] TeamSocket& to(int rank) { return talk_[static_cast<std::size_t>(isRoot() ? rank : 0)]; }

    int rank_;
    int size_;
    Sockets talk_;
    std::vector<ControlConnection> control_;
};

} // namespace bubblescope
