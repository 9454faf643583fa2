#include "runtime/launch/tcp_team.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kMaxHello = 4096;
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

/// The first message of a process. All processes of a job run the same program on machines of the same kind.
struct Hello {
    char magic[8] = {'b', 'b', 'l', 's', 'c', 'o', 'p', '1'};
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::int32_t control = 0; ///< whether it is the control connection
};

std::string nameOf(int rank) {
    return "rank " + std::to_string(rank);
}

std::string pack(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) {
        const std::uint64_t length = text.size();
        all.append(reinterpret_cast<const char*>(&length), sizeof length);
        all += text;
    }
    return all;
}

Result<std::vector<std::string>> unpack(const std::string& all, std::size_t count, const std::string& who) {
    std::vector<std::string> texts;
    std::size_t at = 0;
    while (texts.size() < count) {
        std::uint64_t length = 0;
        if (all.size() - at < sizeof length) return runError(who + " sends less than it should");
        std::memcpy(&length, all.data() + at, sizeof length);
        at += sizeof length;
        if (all.size() - at < length) return runError(who + " sends less than it should");
        texts.push_back(all.substr(at, length));
        at += length;
    }
    return texts;
}

/// Reads the hello of a process of this job. Returns nothing for a stranger, whose connection is rejected, and an error
/// for a process that does not fit the job.
Result<std::optional<Hello>> readHello(TeamSocket& socket, const TcpJob& job, TeamSocket::Deadline deadline) {
    using namespace std::chrono_literals;
    const TeamSocket::Clock::time_point soon = TeamSocket::Clock::now() + 5s;
    const TeamSocket::Deadline until = deadline ? std::min(*deadline, soon) : soon;
    const auto text = socket.readText(kMaxHello, "somebody", until);
    Hello hello;
    const Hello known;
    if (!text.ok() || text.value().size() < sizeof hello) return std::optional<Hello>();
    std::memcpy(&hello, text.value().data(), sizeof hello);
    if (std::memcmp(hello.magic, known.magic, sizeof hello.magic) != 0) return std::optional<Hello>();
    if (text.value().substr(sizeof hello) != job.token) {
        (void)socket.writeText("it waits for the processes of another job; give each job a port of its own in "
                               "BUBBLESCOPE_PORT",
                               "it", until);
        return std::optional<Hello>();
    }
    if (hello.size != job.size || hello.rank < 1 || hello.rank >= job.size) {
        return usageError("a process says that it is rank " + std::to_string(hello.rank) + " of " +
                          std::to_string(hello.size) + ", and rank 0 waits for " + std::to_string(job.size));
    }
    return std::optional<Hello>(hello);
}

} // namespace

Result<std::unique_ptr<TcpTeam>> TcpTeam::join(const TcpJob& job, std::chrono::nanoseconds patience) {
    std::unique_ptr<TcpTeam> team(new TcpTeam(job.rank, job.size));
    const auto deadline = TeamSocket::Clock::now() + std::chrono::duration_cast<TeamSocket::Clock::duration>(patience);
    BUBBLESCOPE_TRY(team->isRoot() ? team->acceptAll(job, deadline) : team->connectToRoot(job, deadline));
    return team;
}

Status TcpTeam::acceptAll(const TcpJob& job, TeamSocket::Clock::time_point deadline) {
    talk_.resize(static_cast<std::size_t>(size_));
    control_.resize(static_cast<std::size_t>(size_));
    if (size_ == 1) return {};
    const bool loopback = job.host == "localhost" || job.host.starts_with("127.");
    BUBBLESCOPE_ASSIGN(TeamListener listener, TeamListener::open(job.port, loopback));
    for (int missing = 2 * (size_ - 1); missing > 0;) {
        BUBBLESCOPE_ASSIGN(std::optional<TeamSocket> socket, listener.accept(deadline));
        if (!socket) {
            std::string ranks;
            for (int r = 1; r < size_; ++r) {
                if (!control_[static_cast<std::size_t>(r)].socket.isOpen())
                    ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
            }
            return runError("these ranks have not come to rank 0 at " + job.host + ", port " +
                                std::to_string(job.port) + ": " + ranks,
                            "see whether their processes have started and what they print");
        }
        BUBBLESCOPE_ASSIGN(const std::optional<Hello> hello, readHello(*socket, job, deadline));
        if (!hello) continue;
        const auto at = static_cast<std::size_t>(hello->rank);
        TeamSocket& place = hello->control != 0 ? control_[at].socket : talk_[at];
        if (place.isOpen()) return usageError("two processes say that they are rank " + std::to_string(hello->rank));
        BUBBLESCOPE_TRY(socket->writeText({}, nameOf(hello->rank), deadline));
        place = std::move(*socket);
        --missing;
    }
    return {};
}

Status TcpTeam::connectToRoot(const TcpJob& job, TeamSocket::Clock::time_point deadline) {
    const std::string root = "rank 0 at " + job.host + ", port " + std::to_string(job.port);
    talk_.resize(1);
    control_.resize(1);
    for (TeamSocket* const own : {&talk_.front(), &control_.front().socket}) {
        Hello hello;
        hello.rank = rank_;
        hello.size = size_;
        hello.control = own == &talk_.front() ? 0 : 1;
        std::string text(sizeof hello, '\0');
        std::memcpy(text.data(), &hello, sizeof hello);
        BUBBLESCOPE_ASSIGN(TeamSocket socket, TeamSocket::connect(job.host, job.port, deadline));
        BUBBLESCOPE_TRY(socket.writeText(text + job.token, root, deadline));
        BUBBLESCOPE_ASSIGN(const std::string refused, socket.readText(kMaxHello, root, deadline));
        if (!refused.empty())
            return usageError(root + " does not let rank " + std::to_string(rank_) + " in: " + refused);
        *own = std::move(socket);
    }
    return {};
}

Result<std::string> TcpTeam::broadcast(std::string bytes) {
    if (!isRoot()) return to(0).readText(kAny, nameOf(0));
    for (int r = 1; r < size_; ++r)
        BUBBLESCOPE_TRY(to(r).writeText(bytes, nameOf(r)));
    return bytes;
}

Result<std::vector<std::string>> TcpTeam::gather(std::string bytes) {
    std::vector<std::string> all;
    if (!isRoot()) {
        BUBBLESCOPE_TRY(to(0).writeText(bytes, nameOf(0)));
        return all;
    }
    all.push_back(std::move(bytes));
    for (int r = 1; r < size_; ++r) {
        BUBBLESCOPE_ASSIGN(all.emplace_back(), to(r).readText(kAny, nameOf(r)));
    }
    return all;
}

Result<std::vector<std::string>> TcpTeam::exchange(std::vector<std::string> to_each) {
    const auto members = static_cast<std::size_t>(size_);
    if (to_each.size() != members) return runError("an exchange needs one text for each process");
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> packed, gather(pack(to_each)));
    if (!isRoot()) {
        BUBBLESCOPE_ASSIGN(const std::string own, to(0).readText(kAny, nameOf(0)));
        return unpack(own, members, nameOf(0));
    }
    std::vector<std::vector<std::string>> rows;
    for (std::size_t r = 0; r < members; ++r) {
        BUBBLESCOPE_ASSIGN(rows.emplace_back(), unpack(packed[r], members, nameOf(static_cast<int>(r))));
    }
    std::vector<std::string> own;
    for (std::size_t r = 0; r < members; ++r) {
        std::vector<std::string> column;
        for (auto& row : rows)
            column.push_back(std::move(row[r]));
        if (r == 0) {
            own = std::move(column);
        } else {
            BUBBLESCOPE_TRY(to(static_cast<int>(r)).writeText(pack(column), nameOf(static_cast<int>(r))));
        }
    }
    return own;
}

Result<std::unique_ptr<runtime::ControlChannel>> TcpTeam::openControl() {
    return std::unique_ptr<runtime::ControlChannel>(std::make_unique<TcpControl>(rank_, control_));
}

} // namespace bubblescope
