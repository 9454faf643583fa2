#pragma once

#include "core/net/proof.h"
#include "runtime/launch/tcp_job.h"
#include "runtime/launch/tcp_team.h"

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>

namespace bubblescope {

/// What a process states that joins a job.
struct JoiningRank {
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::int32_t control = 0; ///< whether it is the control connection
};

/// Lets the processes of a job in, and nobody else. Both ends prove that they know the job's secret, which is not sent:
/// each makes an HMAC over what both chose at random. Any number of connections may be in it at once, of which none
/// keeps the others waiting; the oldest make room when they are many.
class TcpAdmission {
public:
    using Clock = net::Clock;

    /// Listens on the interface that the job's host names. Error: Run, with the system's reason.
    [[nodiscard]] static Result<TcpAdmission> open(const TcpJob& job);

    struct Admitted {
        JoiningRank who;
        TeamSocket socket;
        std::string answer; ///< with which it is welcomed
    };
    /// The next process that has proved to be of this job; nothing at the deadline. The caller lets it in with
    /// welcome(). Errors: Run, if no connection can be accepted; Usage, without OpenSSL.
    [[nodiscard]] Result<std::optional<Admitted>> next(Clock::time_point deadline);

    /// What the other end of join() waits for.
    [[nodiscard]] static Status welcome(Admitted& admitted, Clock::time_point deadline);
    static void refuse(Admitted& admitted, const std::string& reason);

    [[nodiscard]] std::size_t waiting() const { return pending_.size(); }

    /// The joining end: connects to rank 0 and proves to be `who`. Tries again until the deadline where rank 0 is not
    /// there yet or had no room. Errors: Run; Usage with rank 0's reason, if it refuses.
    [[nodiscard]] static Result<TeamSocket> join(const TcpJob& job, const JoiningRank& who, Clock::time_point deadline);

private:
    struct Pending {
        TeamSocket socket;
        net::Nonce challenge{};
        std::string came{};
        Clock::time_point since{};
    };

    explicit TcpAdmission(std::string secret) : secret_(std::move(secret)) {}
    [[nodiscard]] Status acceptSome();
    /// Nothing yet, or the end of the connection (`over`), or a process of this job.
    [[nodiscard]] Result<std::optional<Admitted>> hear(Pending& pending, bool& over);
    void waitFor(Clock::time_point deadline) const;

    std::string secret_;
    net::Listener listener_;
    std::list<Pending> pending_; ///< oldest first
};

} // namespace bubblescope
