#pragma once

#include "core/live/record_stream.h"
#include "core/net/admission.h"
#include "core/net/link.h"
#include "core/net/socket.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::live {

/// Sends the files of a run to a collector. Buffers only data in transit: after a lost connection, the collector
/// reports how much of each stream has arrived, and the file is read again from that offset. The writers of the files
/// are not affected. Not thread-safe.
class StreamSender final : public StreamTarget {
public:
    struct Options {
        net::Address address;
        std::string token;
        std::string name;  ///< name of this machine
        std::string clock; ///< name of its CLOCK_MONOTONIC
        std::optional<net::TlsSettings> tls;
        TimeNs retry{std::chrono::seconds(1)};
        TimeNs ping{std::chrono::seconds(60)};
        bool only_own = false; ///< skip files written on other machines, which send these files themselves
    };
    explicit StreamSender(Options options);
    ~StreamSender() override;

    /// Connects if necessary, and sends and receives as much as possible without waiting. `now` is CLOCK_MONOTONIC.
    /// Errors: Run or Input if further attempts are pointless, because the collector rejected this sender.
    [[nodiscard]] Status poll(TimeNs now);

    /// Descriptor to be polled for reading, and also for writing if requested; negative while there is no connection.
    [[nodiscard]] int descriptor() const;
    [[nodiscard]] bool wantsToWrite() const { return connector_ || (link_ && link_->waiting() > 0); }
    [[nodiscard]] bool connected() const { return welcome_; }
    [[nodiscard]] const std::string& problem() const { return problem_; } ///< error of the most recent connection
    /// True if all data passed to feed() has arrived and every stream has ended or its writer has exited. Remains true
    /// after the collector closes the connection.
    [[nodiscard]] bool done() const;
    /// True if every stream has ended or its writer has exited, even if the collector has not acknowledged it yet.
    [[nodiscard]] bool hasEnded() const;
    /// Time when the collector became unable to store data; empty if it can store data.
    [[nodiscard]] std::optional<TimeNs> unkeptSince() const { return unkept_since_; }
    /// Time of the collector's last acknowledgement of new data, or of the first poll() if there was none.
    [[nodiscard]] TimeNs acknowledgedAt() const { return acknowledged_at_.value_or(TimeNs{0}); }
    /// Number of bytes that were sent but not acknowledged.
    [[nodiscard]] std::uint64_t unacknowledged() const;

    [[nodiscard]] Stream open(const std::string& name) override;
    void feed(Stream stream, std::string_view bytes, TimeNs now) override;
    [[nodiscard]] std::size_t pending(Stream stream) const override;
    void dropPending(Stream stream) override;
    void restart(Stream stream) override;
    void close(Stream stream) override;
    void gone(Stream stream, const std::string& reason) override;
    [[nodiscard]] std::optional<RunStatement> statementOf(Stream stream) const override;
    [[nodiscard]] std::size_t room(Stream stream) const override;
    [[nodiscard]] std::optional<std::int64_t> takeRewind(Stream stream) override;
    [[nodiscard]] bool isThrough(Stream stream) const override;
    [[nodiscard]] std::int64_t stepOf(Stream stream) const override;

private:
    struct Source;

    void connect(TimeNs now);
    void beginLink(net::Socket socket);
    void disconnect(TimeNs now);
    void take(const net::Frame& frame, TimeNs now);
    void openAtReceiver(std::size_t stream);
    /// After a pause, resends data that the collector could not store.
    void tryUnkept(TimeNs now);
    void setAcknowledged(Source& source, std::uint64_t offset, TimeNs now);
    [[nodiscard]] bool allArrived() const;
    [[nodiscard]] bool isForeign(const Source& source) const;
    void ping(TimeNs now);

    Options options_;
    std::optional<net::Connector> connector_; ///< present while a connection is being established
    std::optional<net::Link> link_;
    std::optional<net::Applicant> applicant_; ///< of link_
    bool welcome_ = false;
    bool done_ = false; ///< result of done() when the connection was closed
    std::optional<Error> refused_;
    std::string problem_;
    std::optional<TimeNs> unkept_since_;
    std::optional<TimeNs> acknowledged_at_;
    TimeNs retry_at_{0};
    TimeNs ping_at_{0};
    int pings_left_ = 0; ///< pings left in a burst; the fastest of a burst is the most accurate
    perfetto::StreamMemory stream_memory_;
    std::vector<std::unique_ptr<Source>> sources_;
};

} // namespace bubblescope::live
