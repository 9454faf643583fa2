#include "tests/mpi/mpi_transport_checks.h"

#include "core/families/registry.h"
#include "runtime/comm/mpi/mpi_channels.h"

#include <fmt/format.h>

#include <chrono>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

using namespace std::chrono_literals;

/// A host whose clock shows more than the machine's.
class AheadClock final : public HostClock {
public:
    explicit AheadClock(TimeNs ahead) : ahead_(ahead) {}
    [[nodiscard]] TimeNs now() const override { return host_.now() + ahead_; }
    void sleepUntil(TimeNs time) override { host_.sleepUntil(time - ahead_); }

private:
    MonotonicClock host_;
    TimeNs ahead_;
};

constexpr TimeNs kAheadOfEachOther = 3600s;

Message messageOf(float value, std::int64_t elements, TimeNs sent) {
    return {Tensor(HostMatrix(elements, 1, value)), sent};
}

class Checks {
public:
    Checks(ProcessTransport& transport, const AheadClock& clock, int size)
        : transport_(transport), clock_(clock), size_(size) {}

    std::string run() {
        for (int step = 0; step < 3; ++step) {
            transport_.expect(expected_);
            const TimeNs own = clock_.now();
            const auto latest = transport_.barrier(own);
            if (!latest) return "nobody met: " + transport_.error()->text();
            // The last rank's clock shows most; each receives the latest time on its own clock.
            const TimeNs off = *latest - own;
            if (off < -kPrecision || off > kSoon) return fmt::format("met {} after its own time", formatTime(off));
            if (const std::string text = exchange(step); !text.empty()) return text;
            if (const std::string text = exchangeMail(); !text.empty()) return text;
        }
        return {};
    }

private:
    static constexpr TimeNs kPrecision = 20ms; ///< far above an exchange on one machine, however busy
    static constexpr TimeNs kSoon = 60s;

    [[nodiscard]] Rank next() const { return Rank{(transport_.rank().value + 1) % size_}; }
    [[nodiscard]] Rank previous() const { return Rank{(transport_.rank().value + size_ - 1) % size_}; }

    static MessageKey key(int microbatch) { return {Content::Activation, Stage{0}, Stage{1}, Microbatch{microbatch}}; }

    /// Sends round a ring, small and large, more than are taken at once, and takes them in another order.
    std::string exchange(int step) {
        constexpr int kMessages = 4;
        const TimeNs sent = clock_.now();
        for (int m = 0; m < kMessages; ++m)
            transport_.send(next(), key(m), messageOf(value(transport_.rank(), step, m), elements(m), sent));
        for (const int m : {2, 0, 3, 1}) {
            const auto taken = transport_.receive(previous(), key(m));
            if (!taken) return "nothing came: " + transport_.error()->text();
            const HostMatrix& values = taken->message.tensor.host();
            if (values.rows() != elements(m) || values.cols() != 1) return "a tensor of another shape came";
            if (values != HostMatrix(elements(m), 1, value(previous(), step, m)))
                return "other numbers came than were sent";
            const TimeNs off = taken->message.sent - sent;
            if (off < -kSoon || off > kSoon)
                return fmt::format("it was sent {} after, on the own clock", formatTime(off));
            if (step == 0) expected_.push_back({previous(), key(m)});
        }
        return {};
    }

    /// While a tensor has not been taken: neither is confused with the other, and mail keeps its order.
    std::string exchangeMail() {
        const TimeNs sent = clock_.now();
        transport_.send(next(), key(9), messageOf(value(transport_.rank(), 0, 9), 1, sent));
        for (const std::size_t bytes : kMailBytes)
            transport_.post(
                {next(), std::string(bytes, static_cast<char>('a' + transport_.rank().value)), {sent, sent + 1s}});
        for (const std::size_t bytes : kMailBytes) {
            const auto mail = transport_.awaitMail();
            if (!mail) return "no mail came: " + transport_.error()->text();
            if (mail->peer != previous()) return "mail came from another rank";
            if (mail->bytes != std::string(bytes, static_cast<char>('a' + previous().value)))
                return fmt::format("other mail of {} bytes came, {} were sent", mail->bytes.size(), bytes);
            const TimeNs off = mail->times[0] - sent;
            if (off < -kSoon || off > kSoon)
                return fmt::format("mail says {} after, on the own clock", formatTime(off));
            if (mail->times[1] - mail->times[0] != 1s) return "times of mail have parted";
        }
        if (transport_.takeMail()) return "more mail came than was sent";
        const auto taken = transport_.receive(previous(), key(9));
        return taken && taken->message.tensor.size() == 1 ? "" : "the tensor beside the mail did not come";
    }

    /// From what fits a packet to what MPI libraries do not send without asking.
    static constexpr std::size_t kMailBytes[] = {0, 1, 5'000'000, 100, 300'000};

    /// The last ones are beyond what MPI libraries send without asking the receiver.
    static std::int64_t elements(int m) { return m == 0 ? 0 : std::int64_t{1} << (6 * m); }
    static float value(Rank rank, int step, int m) { return static_cast<float>(rank.value * 100 + step * 10 + m); }

    ProcessTransport& transport_;
    const AheadClock& clock_;
    int size_;
    std::vector<Expected> expected_;
};

} // namespace

std::string checkMpiTransport(int rank, int size) {
    const Schedule schedule = makeSchedule({"1f1b", "", size, 4, 1}).value();
    const DataPlan plan(schedule);
    AheadClock clock(rank * kAheadOfEachOther);
    // Ranks 0 and 1 claim to be on one machine, though their clocks differ: then clocks are not corrected, so give
    // both the same clock.
    AheadClock root_clock(TimeNs{0});
    AheadClock& own = rank <= 1 ? root_clock : clock;
    auto opened = openMpiTransport(MPI_COMM_WORLD, {TagPlan(schedule, plan), own, 30s,
                                                    rank <= 1 ? "one machine" : fmt::format("machine {}", rank)});
    if (!opened.ok()) return opened.error().text();
    ProcessTransport& transport = *opened.value();
    const std::string wrong = Checks(transport, own, size).run();
    if (!wrong.empty()) return wrong;
    if (!transport.leave()) return "somebody did not leave";
    if (rank <= 1) return transport.pings().empty() ? "" : "ranks of one clock need no pings";
    if (transport.pings().size() != 40) return "there are not as many pings as there should be";
    for (const Ping& ping : transport.pings()) {
        const TimeNs there = ping.t1 - ping.t0 + rank * kAheadOfEachOther;
        const TimeNs back = ping.t3 - ping.t2 - rank * kAheadOfEachOther;
        if (ping.asker != rank || ping.replier != 0 || there < 0s || back < 0s) return "a ping came before it was sent";
    }
    return {};
}

} // namespace bubblescope::runtime::test
