#include "runtime/launch/tcp_admission.h"

#include "core/net/link.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostPending = 256;
constexpr auto kHearWithin = 5s; ///< a stranger
constexpr auto kLeastAge = 1s;   ///< of one that makes room for another
constexpr std::size_t kAnswer = 4096;
constexpr char kWelcome = 'W'; ///< then rank 0's proof
constexpr char kRefused = 'R'; ///< then the reason

/// Rank 0's first words. All processes of a job run the same program on machines of the same kind.
struct Challenge {
    char magic[8] = {'b', 'b', 'l', 's', 'c', 'o', 'p', '2'};
    net::Nonce nonce{};
};

struct Hello {
    char magic[8] = {'b', 'b', 'l', 's', 'c', 'o', 'p', '2'};
    JoiningRank who;
    net::Nonce nonce{};
    net::Proof proof{};
};
static_assert(std::is_trivially_copyable_v<Challenge> && std::is_trivially_copyable_v<Hello>);
static_assert(sizeof(Hello) == 8 + 12 + 2 * net::kProofBytes);

template <class Message>
std::string_view bytesOfMessage(const Message& message) {
    return {reinterpret_cast<const char*>(&message), sizeof message};
}

/// `whose` keeps one end's proof from serving as the other's.
Result<net::Proof> joinProof(const std::string& secret, std::string_view whose, const net::Nonce& challenge,
                             const Hello& hello) {
    std::string message(whose);
    message += net::bytesOf(challenge);
    message += net::bytesOf(hello.nonce);
    message += bytesOfMessage(hello.who);
    return net::proofOf(secret, message);
}

constexpr std::string_view kRankProof = "bubblescope: a rank joins";
constexpr std::string_view kRootProof = "bubblescope: rank 0 answers";

/// One try. `again`: nobody refused, but the connection ended.
Result<TeamSocket> joinOnce(const TcpJob& job, const JoiningRank& who, net::Clock::time_point deadline, bool& again) {
    const std::string root = "rank 0 at " + job.host + ", port " + std::to_string(job.port);
    BUBBLESCOPE_ASSIGN(TeamSocket socket, TeamSocket::connect(job.host, job.port, deadline));
    again = true;
    Challenge challenge;
    const Challenge known;
    BUBBLESCOPE_TRY(socket.read(&challenge, sizeof challenge, root, deadline));
    again = false;
    if (std::memcmp(challenge.magic, known.magic, sizeof known.magic) != 0)
        return runError(root + " is not this program, or another version of it");
    Hello hello;
    hello.who = who;
    BUBBLESCOPE_ASSIGN(hello.nonce, net::makeNonce());
    BUBBLESCOPE_ASSIGN(hello.proof, joinProof(job.token, kRankProof, challenge.nonce, hello));
    again = true;
    BUBBLESCOPE_TRY(socket.write(&hello, sizeof hello, root, deadline));
    BUBBLESCOPE_ASSIGN(const std::string answer, socket.readText(kAnswer, root, deadline));
    again = false;
    if (answer.empty() || answer.front() != kWelcome) {
        return usageError(root + " does not let rank " + std::to_string(who.rank) +
                          " in: " + (answer.empty() ? std::string("no reason given") : answer.substr(1)));
    }
    BUBBLESCOPE_ASSIGN(const net::Proof proof, joinProof(job.token, kRootProof, challenge.nonce, hello));
    if (!net::equalSecrets(net::bytesOf(proof), std::string_view(answer).substr(1)))
        return runError(root + " does not know the job's secret", "something else listens there; BUBBLESCOPE_PORT "
                                                                  "chooses another port");
    return socket;
}

} // namespace

Result<TcpAdmission> TcpAdmission::open(const TcpJob& job) {
    TcpAdmission admission(job.token);
    std::error_code failed;
    admission.listener_ = net::Listener::openReachable({job.host, job.port}, failed);
    if (!admission.listener_.isOpen()) {
        return runError("rank 0 cannot listen on port " + std::to_string(job.port) + ": " + failed.message(),
                        "another program may use it: give all processes another one in BUBBLESCOPE_PORT");
    }
    return admission;
}

Status TcpAdmission::acceptSome() {
    while (true) {
        const bool full = pending_.size() >= kMostPending;
        // One that has just come may be of the job; others wait in the system's queue.
        if (full && Clock::now() - pending_.front().since < kLeastAge) return {};
        net::Socket accepted = listener_.accept();
        if (!accepted.isOpen()) return {};
        if (full) pending_.pop_front();
        accepted.enableKeepAlive();
        Challenge challenge;
        BUBBLESCOPE_ASSIGN(challenge.nonce, net::makeNonce());
        // It fits the empty buffer of a new connection.
        const net::Socket::Progress sent = accepted.writeSome(bytesOfMessage(challenge));
        if (sent.bytes != sizeof challenge) continue;
        pending_.push_back(Pending{TeamSocket(std::move(accepted)), challenge.nonce, {}, Clock::now()});
    }
}

Result<std::optional<TcpAdmission::Admitted>> TcpAdmission::hear(Pending& pending, bool& over) {
    over = Clock::now() - pending.since > kHearWithin;
    Hello hello;
    const Hello known;
    while (pending.came.size() < sizeof hello) {
        char piece[sizeof hello];
        const auto count = pending.socket.readSome(piece, sizeof hello - pending.came.size());
        over = over || !count;
        if (!count || *count == 0) return std::optional<Admitted>();
        pending.came.append(piece, *count);
    }
    over = true;
    std::memcpy(&hello, pending.came.data(), sizeof hello);
    if (std::memcmp(hello.magic, known.magic, sizeof known.magic) != 0) return std::optional<Admitted>();
    BUBBLESCOPE_ASSIGN(const net::Proof right, joinProof(secret_, kRankProof, pending.challenge, hello));
    const auto soon = Clock::now() + 1s;
    if (!net::equalSecrets(net::bytesOf(right), net::bytesOf(hello.proof))) {
        (void)pending.socket.writeText(kRefused + std::string("it waits for the processes of another job, or with "
                                                              "another secret; give each job a port of its own in "
                                                              "BUBBLESCOPE_PORT"),
                                       "it", soon);
        return std::optional<Admitted>();
    }
    BUBBLESCOPE_ASSIGN(const net::Proof answer, joinProof(secret_, kRootProof, pending.challenge, hello));
    Admitted admitted{hello.who, std::move(pending.socket), kWelcome + std::string(net::bytesOf(answer))};
    return std::optional<Admitted>(std::move(admitted));
}

void TcpAdmission::waitFor(Clock::time_point deadline) const {
    constexpr auto kLongest = 100ms; // strangers that stay silent are dropped
    std::vector<pollfd> waited{{listener_.descriptor(), POLLIN, 0}};
    if (pending_.size() >= kMostPending) waited.clear(); // nobody can be let in yet
    for (const Pending& pending : pending_)
        waited.push_back({pending.socket.descriptor(), POLLIN, 0});
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    ::poll(waited.data(), waited.size(),
           static_cast<int>(std::clamp(left, 1ms, std::chrono::milliseconds(kLongest)).count()));
}

Result<std::optional<TcpAdmission::Admitted>> TcpAdmission::next(Clock::time_point deadline) {
    while (true) {
        BUBBLESCOPE_TRY(acceptSome());
        for (auto at = pending_.begin(); at != pending_.end();) {
            bool over = false;
            BUBBLESCOPE_ASSIGN(std::optional<Admitted> admitted, hear(*at, over));
            at = over ? pending_.erase(at) : std::next(at);
            if (admitted) return admitted;
        }
        if (Clock::now() >= deadline) return std::optional<Admitted>();
        waitFor(deadline);
    }
}

Status TcpAdmission::welcome(Admitted& admitted, Clock::time_point deadline) {
    return admitted.socket.writeText(admitted.answer, "rank " + std::to_string(admitted.who.rank), deadline);
}

void TcpAdmission::refuse(Admitted& admitted, const std::string& reason) {
    (void)admitted.socket.writeText(kRefused + reason, "it", Clock::now() + 1s);
}

Result<TeamSocket> TcpAdmission::join(const TcpJob& job, const JoiningRank& who, Clock::time_point deadline) {
    while (true) {
        bool again = false;
        Result<TeamSocket> joined = joinOnce(job, who, deadline, again);
        if (joined.ok() || !again || Clock::now() >= deadline) return joined;
        constexpr auto kNap = 50ms;
        std::this_thread::sleep_for(kNap);
    }
}

} // namespace bubblescope
