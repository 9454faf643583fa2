#include "runtime/launch/tcp_team.h"

#include "runtime/launch/tcp_admission.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

Status outcomeOf(net::Socket::Outcome outcome, const std::string& who, std::string_view silent) {
    switch (outcome) {
    case net::Socket::Outcome::Done: break;
    case net::Socket::Outcome::TimedOut: return runError(who + std::string(silent));
    case net::Socket::Outcome::Closed:
        return runError(who + " has closed its connection", "its process has ended: see what it printed");
    }
    return {};
}

std::optional<std::size_t> bytesOf(const net::Socket::Progress& progress) {
    return progress.ended ? std::nullopt : std::optional(progress.bytes);
}

struct Frame {
    std::int32_t from = 0;
    std::int32_t to = 0;
    runtime::ControlMessage message;
};
static_assert(std::is_trivially_copyable_v<Frame>);

/// Of a text between processes of a job: what they tell each other besides tensors is far less.
constexpr std::size_t kLongestText = std::size_t{1} << 30;

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

} // namespace

Result<TeamSocket> TeamSocket::connect(const std::string& host, int port, Clock::time_point deadline) {
    constexpr auto kNap = 50ms;
    std::string why;
    do {
        net::Connector connector({host, port});
        switch (connector.wait(deadline)) {
        case net::Connector::Stage::Connected: {
            net::Socket connected = connector.take();
            connected.enableKeepAlive();
            return TeamSocket(std::move(connected));
        }
        case net::Connector::Stage::UnderWay: why = std::make_error_code(std::errc::timed_out).message(); break;
        case net::Connector::Stage::Failed: why = connector.reason(); break;
        }
        std::this_thread::sleep_for(kNap);
    } while (Clock::now() < deadline);
    return runError("rank 0 cannot be reached at " + host + ", port " + std::to_string(port) + ": " + why,
                    "see whether its process has started and whether a firewall is between the hosts; BUBBLESCOPE_PORT "
                    "chooses another port");
}

std::optional<std::size_t> TeamSocket::writeSome(const void* data, std::size_t bytes) {
    return bytesOf(socket_.writeSome({static_cast<const char*>(data), bytes}));
}

std::optional<std::size_t> TeamSocket::readSome(void* data, std::size_t bytes) {
    return bytesOf(socket_.readSome(static_cast<char*>(data), bytes));
}

Status TeamSocket::write(const void* data, std::size_t bytes, const std::string& who, Deadline deadline) {
    return outcomeOf(socket_.write({static_cast<const char*>(data), bytes}, deadline), who, " does not listen");
}

Status TeamSocket::read(void* data, std::size_t bytes, const std::string& who, Deadline deadline) {
    return outcomeOf(socket_.read(static_cast<char*>(data), bytes, deadline), who, " does not answer");
}

Status TeamSocket::writeText(const std::string& text, const std::string& who, Deadline deadline) {
    const std::uint64_t length = text.size();
    BUBBLESCOPE_TRY(write(&length, sizeof length, who, deadline));
    return write(text.data(), text.size(), who, deadline);
}

Result<std::string> TeamSocket::readText(std::size_t most, const std::string& who, Deadline deadline) {
    std::uint64_t length = 0;
    BUBBLESCOPE_TRY(read(&length, sizeof length, who, deadline));
    if (length > most) return runError(who + " sends what cannot be from this program");
    constexpr std::size_t kPiece = std::size_t{1} << 20; // memory follows what has come, not what is announced
    std::string text;
    while (text.size() < length) {
        const std::size_t before = text.size();
        text.resize(before + std::min<std::size_t>(kPiece, length - before));
        BUBBLESCOPE_TRY(read(text.data() + before, text.size() - before, who, deadline));
    }
    return text;
}

TcpControl::~TcpControl() {
    for (ControlConnection& connection : connections_)
        flush(connection);
}

ControlConnection& TcpControl::connectionTo(int rank) {
    return connections_[rank_ == 0 ? static_cast<std::size_t>(rank) : 0];
}

void TcpControl::send(Rank to, const runtime::ControlMessage& message) {
    const Frame frame{rank_, to.value, message};
    ControlConnection& connection = connectionTo(to.value);
    connection.out.append(reinterpret_cast<const char*>(&frame), sizeof frame);
    flush(connection);
}

void TcpControl::flush(ControlConnection& connection) {
    while (connection.socket.isOpen() && !connection.out.empty()) {
        const auto count = connection.socket.writeSome(connection.out.data(), connection.out.size());
        if (!count) connection.socket.close();
        if (!count || *count == 0) break;
        connection.out.erase(0, *count);
    }
    if (!connection.socket.isOpen()) connection.out.clear();
}

void TcpControl::fetch(ControlConnection& connection) {
    char piece[16 * sizeof(Frame)];
    while (connection.socket.isOpen()) {
        const auto count = connection.socket.readSome(piece, sizeof piece);
        if (!count) connection.socket.close();
        if (!count || *count == 0) break;
        connection.in.append(piece, *count);
    }
    deliver(connection);
}

void TcpControl::deliver(ControlConnection& connection) {
    std::size_t at = 0;
    for (; connection.in.size() - at >= sizeof(Frame); at += sizeof(Frame)) {
        Frame frame;
        std::memcpy(&frame, connection.in.data() + at, sizeof frame);
        // A message of another's is forwarded by rank 0 alone, and nobody speaks in another's name.
        if (rank_ == 0 && (frame.from < 0 || &connectionTo(frame.from) != &connection)) continue;
        if (frame.to == rank_) {
            inbox_.push_back({Rank{frame.from}, frame.message});
        } else if (rank_ == 0 && frame.to > 0 && static_cast<std::size_t>(frame.to) < connections_.size()) {
            ControlConnection& next = connectionTo(frame.to);
            next.out.append(reinterpret_cast<const char*>(&frame), sizeof frame);
            flush(next);
        }
    }
    connection.in.erase(0, at);
}

std::optional<runtime::ControlChannel::Received> TcpControl::receive() {
    if (inbox_.empty()) {
        for (ControlConnection& connection : connections_) {
            flush(connection);
            fetch(connection);
        }
    }
    if (inbox_.empty()) return std::nullopt;
    const Received received = inbox_.front();
    inbox_.pop_front();
    return received;
}

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
    BUBBLESCOPE_ASSIGN(TcpAdmission admission, TcpAdmission::open(job));
    for (int missing = 2 * (size_ - 1); missing > 0;) {
        BUBBLESCOPE_ASSIGN(std::optional<TcpAdmission::Admitted> admitted, admission.next(deadline));
        if (!admitted) {
            std::string ranks;
            for (int r = 1; r < size_; ++r) {
                if (!control_[static_cast<std::size_t>(r)].socket.isOpen())
                    ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
            }
            return runError("these ranks have not come to rank 0 at " + job.host + ", port " +
                                std::to_string(job.port) + ": " + ranks,
                            "see whether their processes have started and what they print");
        }
        const JoiningRank& who = admitted->who;
        if (who.size != job.size || who.rank < 1 || who.rank >= job.size) {
            const std::string reason = "a process says that it is rank " + std::to_string(who.rank) + " of " +
                                       std::to_string(who.size) + ", and rank 0 waits for " + std::to_string(job.size);
            TcpAdmission::refuse(*admitted, reason);
            return usageError(reason);
        }
        const auto at = static_cast<std::size_t>(who.rank);
        TeamSocket& place = who.control != 0 ? control_[at].socket : talk_[at];
        if (place.isOpen()) {
            const std::string reason = "two processes say that they are rank " + std::to_string(who.rank);
            TcpAdmission::refuse(*admitted, reason);
            return usageError(reason);
        }
        BUBBLESCOPE_TRY(TcpAdmission::welcome(*admitted, deadline));
        place = std::move(admitted->socket);
        --missing;
    }
    return {};
}

Status TcpTeam::connectToRoot(const TcpJob& job, TeamSocket::Clock::time_point deadline) {
    talk_.resize(1);
    control_.resize(1);
    for (TeamSocket* const own : {&talk_.front(), &control_.front().socket}) {
        const JoiningRank who{rank_, size_, own == &talk_.front() ? 0 : 1};
        BUBBLESCOPE_ASSIGN(*own, TcpAdmission::join(job, who, deadline));
    }
    return {};
}

Result<std::string> TcpTeam::broadcast(std::string bytes) {
    if (!isRoot()) return to(0).readText(kLongestText, nameOf(0));
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
        BUBBLESCOPE_ASSIGN(all.emplace_back(), to(r).readText(kLongestText, nameOf(r)));
    }
    return all;
}

Result<std::vector<std::string>> TcpTeam::exchange(std::vector<std::string> to_each) {
    const auto members = static_cast<std::size_t>(size_);
    if (to_each.size() != members) return runError("an exchange needs one text for each process");
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> packed, gather(pack(to_each)));
    if (!isRoot()) {
        BUBBLESCOPE_ASSIGN(const std::string own, to(0).readText(kLongestText, nameOf(0)));
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
