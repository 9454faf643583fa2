// Real processes that find each other by TCP: their messages, and their errors when one is missing, dies or does not
// belong to them.

#include "runtime/comm/process_transport.h"
#include "runtime/launch/tcp_team.h"
#include "tests/mpi/team_checks.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::test {
namespace {

using namespace std::chrono_literals;

/// A port that is not used at this moment.
int freePort() {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length), 0);
    ::close(descriptor);
    return ntohs(address.sin_port);
}

/// The last output of each process; nothing for a process that was killed.
std::vector<std::string> inProcesses(int count, const std::function<std::string(int rank)>& work) {
    std::vector<int> ends;
    std::vector<pid_t> children;
    for (int rank = 0; rank < count; ++rank) {
        int both[2];
        EXPECT_EQ(::pipe(both), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            const std::string said = work(rank);
            (void)!::write(both[1], said.data(), said.size());
            ::_exit(0);
        }
        ::close(both[1]);
        ends.push_back(both[0]);
        children.push_back(child);
    }
    std::vector<std::string> said(ends.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
        char piece[512];
        for (ssize_t bytes = 0; (bytes = ::read(ends[i], piece, sizeof piece)) > 0;)
            said[i].append(piece, static_cast<std::size_t>(bytes));
        ::close(ends[i]);
        ::waitpid(children[i], nullptr, 0);
    }
    return said;
}

net::Socket connectTo(int port) {
    net::Connector connector({"127.0.0.1", port});
    return connector.wait(net::Clock::now() + 10s) == net::Connector::Stage::Connected ? connector.take()
                                                                                       : net::Socket();
}

TcpJob jobOf(int rank, int size, int port) {
    return {rank, size, "127.0.0.1", port, "these tests"};
}

/// The output of a process that joins and then does the work.
std::string joined(const TcpJob& job, std::chrono::nanoseconds patience,
                   const std::function<std::string(TcpTeam&)>& work) {
    const auto team = TcpTeam::join(job, patience);
    return team.ok() ? work(*team.value()) : team.error().text();
}

TEST(TcpTeam, PassesWhatATeamPasses) {
    for (const int size : {1, 2, 4}) {
        const int port = freePort();
        const auto said = inProcesses(size, [&](int rank) {
            return joined(jobOf(rank, size, port), 60s, [](TcpTeam& team) {
                const std::string wrong = checkTeam(team);
                return wrong.empty() ? std::string("fine") : wrong;
            });
        });
        EXPECT_EQ(said, std::vector<std::string>(static_cast<std::size_t>(size), "fine"));
    }
}

TEST(TcpTeam, SaysWhoIsMissing) {
    const int port = freePort();
    const auto said = inProcesses(3, [&](int rank) {
        if (rank == 2) return std::string("never came");
        return joined(jobOf(rank, 3, port), 2s, [](TcpTeam&) { return std::string("joined"); });
    });
    EXPECT_NE(said[0].find("have not connected to rank 0"), std::string::npos) << said[0];
    EXPECT_NE(said[0].find(": 2"), std::string::npos) << said[0];
}

TEST(TcpTeam, SaysThatTheRootIsMissing) {
    const std::string said = joined(jobOf(1, 2, freePort()), 100ms, [](TcpTeam&) { return std::string("joined"); });
    EXPECT_NE(said.find("cannot reach rank 0 at 127.0.0.1, port"), std::string::npos) << said;
    EXPECT_NE(said.find("BUBBLESCOPE_PORT"), std::string::npos) << said;
}

TEST(TcpTeam, SaysThatItsPortIsTaken) {
    const int port = freePort();
    std::error_code failed;
    const net::Listener listener = net::Listener::openReachable({"127.0.0.1", port}, failed);
    ASSERT_TRUE(listener.isOpen()) << failed.message();
    const std::string said = joined(jobOf(0, 2, port), 1s, [](TcpTeam&) { return std::string("joined"); });
    EXPECT_NE(said.find("cannot listen on port"), std::string::npos) << said;
}

TEST(TcpTeam, KeepsProcessesOfAnotherJobAndStrangersOut) {
    const int port = freePort();
    const auto said = inProcesses(4, [&](int rank) {
        const auto work = [](TcpTeam& team) { return "joined " + team.broadcast("hello").value(); };
        if (rank < 2) return joined(jobOf(rank, 2, port), 60s, work);
        if (rank == 2) {
            TcpJob other = jobOf(1, 2, port);
            other.token = "another job";
            return joined(other, 5s, work); // too late, it would look for the root as long
        }
        net::Socket socket = connectTo(port);
        if (socket.isOpen()) (void)socket.write("GET / HTTP/1.1\r\n\r\n", net::Clock::now() + 10s);
        return std::string("strange");
    });
    EXPECT_EQ(said[0], "joined hello");
    EXPECT_EQ(said[1], "joined hello");
    // Refused, or closed because it came too late.
    EXPECT_TRUE(said[2].find("another job") != std::string::npos || said[2].find("rank 0") != std::string::npos)
        << said[2];
}

TEST(TcpTeam, TakesNoMoreMemoryThanComes) {
    std::error_code failed;
    const int port = freePort();
    net::Listener listener = net::Listener::openReachable({"127.0.0.1", port}, failed);
    TeamSocket here(connectTo(port));
    ASSERT_TRUE(here.isOpen());
    TeamSocket there(listener.accept(TeamSocket::Clock::now() + 10s, failed));
    const std::uint64_t announced = std::uint64_t{1} << 40;
    ASSERT_TRUE(here.write(&announced, sizeof announced, "it").ok());
    const auto text = there.readText(std::size_t{1} << 50, "it", TeamSocket::Clock::now() + 50ms);
    ASSERT_FALSE(text.ok());
    EXPECT_NE(text.error().text().find("is not responding"), std::string::npos) << text.error().text();
}

TEST(TcpTeam, RefusesProcessesThatDisagree) {
    const int port = freePort();
    const auto said = inProcesses(2, [&](int rank) {
        return joined(jobOf(rank, rank == 0 ? 2 : 3, port), 5s, [](TcpTeam&) { return std::string("joined"); });
    });
    EXPECT_NE(said[0].find("rank 1 of 3"), std::string::npos) << said[0];
}

TEST(TcpTeam, NoticesAProcessThatDies) {
    const int port = freePort();
    const auto said = inProcesses(3, [&](int rank) {
        return joined(jobOf(rank, 3, port), 60s, [](TcpTeam& team) {
            if (team.rank() == 2) ::raise(SIGKILL);
            const auto all = team.exchange(std::vector<std::string>(3, "x"));
            return all.ok() ? std::string("fine") : all.error().text();
        });
    });
    EXPECT_NE(said[0].find("rank 2 closed its connection"), std::string::npos) << said[0];
    EXPECT_NE(said[1].find("rank 0 closed its connection"), std::string::npos) << said[1];
}

/// A data channel that carries no tensors.
class NoData final : public runtime::DataChannel {
public:
    void expect(std::span<const runtime::Expected>) override {}
    void send(Rank, const runtime::MessageKey&, runtime::Message) override {}
    void progress() override {}
    [[nodiscard]] std::optional<Arrived> take(Rank, const runtime::MessageKey&) override { return std::nullopt; }
    [[nodiscard]] bool busy() const override { return false; }
};

std::string onTransport(TcpTeam& team, TimeNs timeout,
                        const std::function<std::string(runtime::ProcessTransport&)>& work) {
    runtime::MonotonicClock clock;
    auto transport =
        runtime::ProcessTransport::open({Rank{team.rank()}, team.size(), clock, timeout, false,
                                         std::make_unique<NoData>(), std::move(team.openControl()).value()});
    if (!transport.ok()) return transport.error().text();
    std::string said = work(*transport.value());
    (void)transport.value()->leave();
    return said;
}

TEST(TcpControl, CarriesMeetingsOfSeveralRuns) {
    const int port = freePort();
    const auto said = inProcesses(4, [&](int rank) {
        return joined(jobOf(rank, 4, port), 60s, [](TcpTeam& team) {
            for (int run = 0; run < 2; ++run) {
                const std::string wrong =
                    onTransport(team, 60s, [&](runtime::ProcessTransport& transport) -> std::string {
                        for (int meeting = 0; meeting < 50; ++meeting) {
                            const auto latest = transport.barrier(TimeNs{100 * meeting + team.rank()});
                            if (!latest) return transport.error()->text();
                            if (*latest != TimeNs{100 * meeting + 3}) return "not the latest time";
                        }
                        return {};
                    });
                if (!wrong.empty()) return wrong;
            }
            return std::string("met");
        });
    });
    EXPECT_EQ(said, std::vector<std::string>(4, "met"));
}

TEST(TcpControl, TellsAllWhyARunEnds) {
    const int port = freePort();
    const auto said = inProcesses(3, [&](int rank) {
        return joined(jobOf(rank, 3, port), 60s, [](TcpTeam& team) {
            return onTransport(team, 60s, [&](runtime::ProcessTransport& transport) {
                if (team.rank() == 2) transport.fail(runError("rank 2 has had enough"));
                while (transport.barrier(TimeNs{0})) {
                }
                return transport.error()->text();
            });
        });
    });
    for (const std::string& one : said)
        EXPECT_NE(one.find("rank 2 has had enough"), std::string::npos) << one;
}

TEST(TcpControl, TellsAllWhoDied) {
    const int port = freePort();
    const auto said = inProcesses(3, [&](int rank) {
        return joined(jobOf(rank, 3, port), 60s, [](TcpTeam& team) {
            return onTransport(team, 2s, [&](runtime::ProcessTransport& transport) {
                // As ranks that wait for each other do: a rank that reports that it builds its stages is soon reported
                // as hanging.
                runtime::Activity meeting;
                meeting.kind = runtime::Activity::Kind::AtBarrier;
                meeting.since = meeting.due = runtime::MonotonicClock().now();
                transport.report(meeting);
                if (!transport.barrier(TimeNs{0})) return transport.error()->text();
                if (team.rank() == 1) ::raise(SIGKILL);
                (void)transport.barrier(TimeNs{0});
                return transport.error() ? transport.error()->text() : std::string("nothing happened");
            });
        });
    });
    EXPECT_NE(said[0].find("no message from rank 1"), std::string::npos) << said[0];
    EXPECT_NE(said[2].find("no message from rank 1"), std::string::npos) << said[2];
}

} // namespace
} // namespace bubblescope::test
