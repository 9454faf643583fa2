#include "runtime/launch/tcp_team.h"

#include "core/base/wire.h"

#include <poll.h>

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
        return runError(who + " closed its connection", "its process ended: check its output");
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

/// Maximum length of a text between processes of a job, far longer than anything they exchange other than tensors.
constexpr std::size_t kLongestText = std::size_t{1} << 30;
constexpr std::size_t kMaxConnections = 4096; ///< admitted at the same time

std::string nameOf(int rank) {
    return "rank " + std::to_string(rank);
}

std::string pack(const std::vector<std::string>& texts) {
    WireWriter out;
    out(texts);
    return out.take();
}

Result<std::vector<std::string>> unpack(const std::string& all, std::size_t count, const std::string& who) {
    std::vector<std::string> texts;
    WireReader in(all);
    in(texts);
    if (!in.done() || texts.size() != count) return runError(who + " sends too little data");
    return texts;
}

/// The data that a process sends when it joins a job.
struct JoiningRank {
    std::int32_t rank = 0;
    std::int32_t size = 0;
    bool control = false; ///< true for the control connection
};

template <class Wire>
void fields(Wire& wire, JoiningRank& value) {
    auto& [rank, size, control] = value;
    wire(rank, size, control);
}

std::string rootOf(const TcpJob& job) {
    return "rank 0 at " + job.host + ", port " + std::to_string(job.port);
}

/// Retries until the deadline, because rank 0 may not be listening yet.
Result<net::Socket> connectTo(const TcpJob& job, net::Clock::time_point deadline) {
    constexpr auto kNap = 50ms;
    std::string why;
    do {
        net::Connector connector({job.host, job.port});
        switch (connector.wait(deadline)) {
        case net::Connector::Stage::Connected: return connector.take();
        case net::Connector::Stage::UnderWay: why = std::make_error_code(std::errc::timed_out).message(); break;
        case net::Connector::Stage::Failed: why = connector.reason(); break;
        }
        std::this_thread::sleep_for(kNap);
    } while (net::Clock::now() < deadline);
    return runError(
        "cannot reach rank 0 at " + job.host + ", port " + std::to_string(job.port) + ": " + why,
        "check that its process has started and that no firewall blocks it; set BUBBLESCOPE_PORT to use another port");
}

/// One attempt. `again` is set if the connection ended without a refusal.
Result<TeamSocket> joinOnce(const TcpJob& job, const JoiningRank& who, net::Clock::time_point deadline, bool& again) {
    again = false;
    BUBBLESCOPE_ASSIGN(net::Socket socket, connectTo(job, deadline));
    const auto read = [&]() -> Result<net::Frame> {
        Result<net::Frame> frame = net::readFrame(socket, deadline);
        if (frame.ok()) return frame;
        again = frame.error().kind == ErrorKind::Run;
        if (again) return runError(rootOf(job) + ": " + frame.error().text());
        return runError(rootOf(job) + " is not Bubblescope, or is a different version");
    };
    WireWriter statement;
    statement(who);
    net::Applicant applicant(job.token, statement.take());
    BUBBLESCOPE_ASSIGN(const net::Frame challenge, read());
    BUBBLESCOPE_ASSIGN(const net::Frame hello, applicant.answer(challenge));
    again = true;
    BUBBLESCOPE_TRY(outcomeOf(socket.write(net::encode(hello), deadline), rootOf(job), " does not listen"));
    BUBBLESCOPE_ASSIGN(const net::Frame answer, read());
    again = false;
    if (answer.kind == net::Frame::Kind::Refused)
        return usageError(rootOf(job) + " does not admit rank " + std::to_string(who.rank) + " in: " + answer.text);
    if (!applicant.trusts(answer))
        return runError(rootOf(job) + " does not have the job's secret",
                        "another program listens there; set BUBBLESCOPE_PORT to use another port");
    socket.enableKeepAlive();
    return TeamSocket(std::move(socket));
}

Result<TeamSocket> joinRoot(const TcpJob& job, const JoiningRank& who, net::Clock::time_point deadline) {
    while (true) {
        bool again = false;
        Result<TeamSocket> joined = joinOnce(job, who, deadline, again);
        if (joined.ok() || !again || net::Clock::now() >= deadline) return joined;
        constexpr auto kNap = 50ms;
        std::this_thread::sleep_for(kNap);
    }
}

/// Listens on the interface that the job's host name refers to. Error: Run, with the system's reason.
Result<net::Admission> openAdmission(const TcpJob& job) {
    std::error_code failed;
    net::Listener listener = net::Listener::openReachable({job.host, job.port}, failed);
    if (!listener.isOpen()) {
        return runError("rank 0 cannot listen on port " + std::to_string(job.port) + ": " + failed.message(),
                        "another program may be using it; set BUBBLESCOPE_PORT to a free port for all processes");
    }
    return net::Admission::open(std::move(listener),
                                {job.token, "it is waiting for processes of another job, or with another secret; set a "
                                            "separate BUBBLESCOPE_PORT for each job"});
}

} // namespace

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
    return outcomeOf(socket_.read(static_cast<char*>(data), bytes, deadline), who, " is not responding");
}

Status TeamSocket::writeText(const std::string& text, const std::string& who, Deadline deadline) {
    const std::uint64_t length = text.size();
    BUBBLESCOPE_TRY(write(&length, sizeof length, who, deadline));
    return write(text.data(), text.size(), who, deadline);
}

Result<std::string> TeamSocket::readText(std::size_t most, const std::string& who, Deadline deadline) {
    std::uint64_t length = 0;
    BUBBLESCOPE_TRY(read(&length, sizeof length, who, deadline));
    if (length > most) return runError(who + " sends data that is not from Bubblescope");
    constexpr std::size_t kPiece = std::size_t{1} << 20; // memory grows with the data, not with the announced length
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
        // Only rank 0 forwards messages of others, and no process may send under another process's rank.
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
    constexpr auto kLongest = 100ms; // longest wait before unknown peers that stay silent are dropped
    talk_.resize(static_cast<std::size_t>(size_));
    control_.resize(static_cast<std::size_t>(size_));
    if (size_ == 1) return {};
    BUBBLESCOPE_ASSIGN(net::Admission admission, openAdmission(job));
    const auto most = 2 * static_cast<std::size_t>(size_ - 1);
    for (std::size_t joined = 0; joined < most;) {
        const auto now = TeamSocket::Clock::now();
        // There may be more connections than missing processes, because some may come from unknown peers.
        for (net::Admission::Admitted& joiner : admission.poll(now.time_since_epoch(), kMaxConnections)) {
            BUBBLESCOPE_TRY(letIn(std::move(joiner), deadline));
            ++joined;
        }
        if (joined == most) break;
        if (now >= deadline) return missingRanks(job);
        pollfd waited{admission.descriptor(), POLLIN, 0};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now);
        ::poll(&waited, 1, static_cast<int>(std::clamp(left, 1ms, std::chrono::milliseconds(kLongest)).count()));
    }
    return {};
}

Error TcpTeam::missingRanks(const TcpJob& job) const {
    std::string ranks;
    for (int r = 1; r < size_; ++r) {
        if (!control_[static_cast<std::size_t>(r)].socket.isOpen())
            ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    }
    return runError("these ranks have not connected to " + rootOf(job) + ": " + ranks,
                    "check their output, and that their processes have started");
}

/// Error: Usage, if the processes of the job disagree about its size or ranks.
Status TcpTeam::letIn(net::Admission::Admitted joiner, TeamSocket::Clock::time_point deadline) {
    JoiningRank who;
    WireReader in(joiner.statement);
    in(who);
    net::Socket socket = joiner.link.release();
    const auto refuse = [&](std::string reason) {
        (void)socket.write(net::encode(net::Admission::refusal(reason)), TeamSocket::Clock::now() + 1s);
        return usageError(std::move(reason));
    };
    if (!in.done() || who.size != size_ || who.rank < 1 || who.rank >= size_)
        return refuse("a process claims to be rank " + std::to_string(who.rank) + " of " + std::to_string(who.size) +
                      ", but rank 0 waits for " + std::to_string(size_));
    const auto at = static_cast<std::size_t>(who.rank);
    TeamSocket& place = who.control ? control_[at].socket : talk_[at];
    if (place.isOpen()) return refuse("two processes claim to be rank " + std::to_string(who.rank));
    BUBBLESCOPE_TRY(outcomeOf(socket.write(net::encode(joiner.welcome), deadline), "rank " + std::to_string(who.rank),
                              " does not listen"));
    socket.enableKeepAlive();
    place = TeamSocket(std::move(socket));
    return {};
}

Status TcpTeam::connectToRoot(const TcpJob& job, TeamSocket::Clock::time_point deadline) {
    talk_.resize(1);
    control_.resize(1);
    for (TeamSocket* const own : {&talk_.front(), &control_.front().socket}) {
        BUBBLESCOPE_ASSIGN(*own, joinRoot(job, {rank_, size_, own != &talk_.front()}, deadline));
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
    if (to_each.size() != members) return runError("an exchange needs one string per process");
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
