#include "app/cli/monitor_streams.h"

#include "app/cli/end_in_time.h"
#include "app/cli/output.h"
#include "app/cli/stop_signals.h"
#include "core/base/bytes.h"
#include "core/base/process_info.h"
#include "core/live/stream_receiver.h"
#include "core/net/secret.h"

#include <fmt/format.h>

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace bubblescope::cli {

TimeNs monitorNow() {
    return readClocks().monotonic;
}

void StreamOptions::add(Command command) {
    const std::string heading = "Over the network";
    const Option listens = command
                               .addOption("--listen", listen,
                                          "Receive streams from other hosts at HOST:PORT, or from this machine at PORT")
                               .typeName("ADDRESS")
                               .group(heading);
    addForward(command, "Send the folders' contents to the monitor at this address instead of showing them");
    command
        .addOption("--keep", keep,
                   "With --listen: keep received traces of recorded jobs in this folder (default: only while they are "
                   "watched)")
        .typeName("DIR")
        .group(heading)
        .needs(listens);
    command
        .addParsed("--keep-size", keep_size, parseBytes,
                   "Size limit of --keep (64GiB); beyond it, the oldest traces of the largest sender are deleted")
        .typeName("BYTES")
        .group(heading)
        .needs(listens);
    const Option keys =
        command.addOption("--key", key, "The certificate's private key (PEM)").typeName("FILE").group(heading);
    const Option shown =
        command.addOption("--certificate", certificate, "Encrypt with TLS, and present this certificate (PEM)")
            .typeName("FILE")
            .group(heading)
            .needs(keys)
            .needs(listens);
    keys.needs(shown);
}

void StreamOptions::addForward(Command command, const std::string& about) {
    const std::string heading = "Over the network";
    command.addOption("--forward", forward, about).typeName("ADDRESS").group(heading);
    command
        .addOption("--token-file", token_file,
                   "File with the shared token on its first line (default: $BUBBLESCOPE_TOKEN)")
        .typeName("FILE")
        .group(heading);
    command
        .addFlag("--insecure", insecure, "Send to other machines without TLS: others can read the records in transit")
        .group(heading);
    command
        .addOption("--trust", trust,
                   "Encrypt with TLS, and send only to a host that presents one of these certificates (PEM)")
        .typeName("FILE")
        .group(heading);
}

Result<std::optional<live::StreamReceiver>> StreamOptions::receiver(const std::filesystem::path& kept) const {
    std::optional<live::StreamReceiver> opened;
    if (listen.empty()) return opened;
    live::StreamReceiver::Options options;
    BUBBLESCOPE_ASSIGN(options.address, net::parseAddress(listen));
    options.insecure = insecure;
    BUBBLESCOPE_ASSIGN(options.token, net::readToken(token_file));
    if (keep_size) options.keep_bytes = *keep_size;
    options.clock = thisProcess().clock;
    options.keep = kept;
    if (!certificate.empty()) {
        BUBBLESCOPE_ASSIGN(options.tls, net::TlsSettings::forListening(certificate, key));
    }
    BUBBLESCOPE_ASSIGN(opened, live::StreamReceiver::open(std::move(options)));
    fmt::print(stderr, "Listening on {}\n", opened->address().text());
    return opened;
}

Result<live::StreamSender::Options> StreamOptions::senderOptions() const {
    live::StreamSender::Options options;
    BUBBLESCOPE_ASSIGN(options.address, net::parseAddress(forward));
    if (trust.empty() && !insecure) BUBBLESCOPE_TRY(net::mustBeLoopback(options.address, "--trust FILE"));
    BUBBLESCOPE_ASSIGN(options.token, net::readToken(token_file));
    const ProcessInfo host = thisProcess();
    options.name = host.host;
    options.clock = host.clock;
    if (!trust.empty()) {
        BUBBLESCOPE_ASSIGN(options.tls, net::TlsSettings::forConnecting(trust, options.address.host));
    }
    return options;
}

namespace {

/// A sender with time limits.
class Sending {
public:
    Sending(live::StreamSender::Options options, TimeNs patience) : sender_(std::move(options)), patience_(patience) {}

    live::StreamSender& sender() { return sender_; }

    /// Returns true if everything has arrived and no new data has arrived for a while. Error: Run, if the collector
    /// rejected the data.
    Result<bool> turn() {
        BUBBLESCOPE_TRY(sender_.poll(monitorNow()));
        const bool arrived = sender_.done();
        // A collector that has received everything may end before the sender.
        if (arrived && !sender_.connected()) return true;
        if (sender_.problem() != reported_) {
            reported_ = sender_.problem();
            if (!reported_.empty()) printError(reported_ + "; trying again");
        }
        if (sender_.connected()) connected_at_ = monitorNow();
        BUBBLESCOPE_TRY(lookForWelcome());
        constexpr TimeNs kReturns{std::chrono::seconds(10)}; // time limit for the return of a restarted collector
        if (connected_at_ && sender_.hasEnded() && monitorNow() - *connected_at_ >= kReturns)
            return runError(fmt::format("the monitor disconnected before it acknowledged the last {} bytes",
                                        sender_.unacknowledged()),
                            "the recording host still has the complete traces");
        constexpr TimeNs kStopped{std::chrono::minutes(1)}; // time limit for the return of a paused collector
        if (sender_.connected() && sender_.hasEnded() && !arrived &&
            monitorNow() - sender_.acknowledgedAt() >= kStopped)
            return runError(fmt::format("the monitor no longer accepts data; it has not acknowledged {} bytes",
                                        sender_.unacknowledged()),
                            "the recording host still has the complete traces");
        constexpr TimeNs kRoom{std::chrono::minutes(1)}; // time for the user to free disk space
        if (sender_.unkeptSince() && sender_.hasEnded() && monitorNow() - *sender_.unkeptSince() >= kRoom)
            return runError(fmt::format("{} bytes were not stored: {}", sender_.unacknowledged(), sender_.problem()),
                            "the recording host still has the complete traces");
        if (!arrived) busy_at_ = monitorNow();
        constexpr TimeNs kQuiet{std::chrono::seconds(2)}; // time limit for the appearance of a late rank
        return monitorNow() - busy_at_ >= kQuiet;
    }

    [[nodiscard]] pollfd waited() const {
        const short wanted = sender_.wantsToWrite() ? POLLIN | POLLOUT : POLLIN;
        return {sender_.descriptor(), wanted, 0};
    }

private:
    /// Error: Run, if no connection was accepted for too long. The limit is longer if there was a connection before.
    Status lookForWelcome() {
        if (sender_.connected()) return {};
        constexpr int kReturning = 10; // multiple of the patience
        constexpr TimeNs kSilent{std::chrono::seconds(2)};
        const TimeNs since = monitorNow() - connected_at_.value_or(began_);
        const TimeNs most = connected_at_ ? kReturning * patience_ : patience_;
        if (since >= most)
            return runError(fmt::format("no collector accepted the connection within {}", formatTime(most)),
                            "check that a collector listens on that address, or use a longer --patience");
        if (since >= kSilent && reported_.empty() && !std::exchange(told_silent_, true))
            printError(fmt::format("the collector is not responding; waiting up to {}", formatTime(most)));
        return {};
    }

    live::StreamSender sender_;
    TimeNs patience_;
    TimeNs began_ = monitorNow();
    bool told_silent_ = false;
    std::string reported_;
    TimeNs busy_at_ = monitorNow();
    std::optional<TimeNs> connected_at_; ///< time of the last connection
};

constexpr int kLongestWait = 200; ///< milliseconds

} // namespace

CommandResult StreamOptions::sendFolders(live::SegmentFollower follower, TimeNs patience) const {
    BUBBLESCOPE_ASSIGN(live::StreamSender::Options options, senderOptions());
    Sending sending(std::move(options), patience);
    StopSignals stop;
    const EndInTime in_time(stop);
    while (!stop.came()) {
        const bool more = follower.read(sending.sender(), monitorNow());
        BUBBLESCOPE_ASSIGN(const bool over, sending.turn());
        if (over) break;
        std::array<pollfd, 3> waited{
            {{stop.descriptor(), POLLIN, 0}, sending.waited(), {follower.descriptor(), POLLIN, 0}}};
        if (!more) ::poll(waited.data(), waited.size(), kLongestWait);
    }
    return 0;
}

} // namespace bubblescope::cli
