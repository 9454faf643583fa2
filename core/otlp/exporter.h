#pragma once

#include "core/base/result.h"
#include "core/net/socket.h"
#include "core/otlp/telemetry.h"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bubblescope::otlp {

/// Address of a collector that receives OTLP over HTTP.
struct Collector {
    std::string url; ///< URL as entered by the user
    net::Address address;
    std::string path;    ///< path before /v1/traces; either empty or starts with '/'
    std::string headers; ///< lines to add to the header of each request, with their line ends
    bool takes_traces = true;
    bool takes_metrics = true;

    /// Parses "http://HOST[:PORT][/PATH]" or "HOST[:PORT]"; the default port is 4318. If PATH ends with /v1/traces or
    /// /v1/metrics, it receives only traces or only metrics. `headers` is the value of OTEL_EXPORTER_OTLP_HEADERS,
    /// "NAME=VALUE,…" with URL encoding. Errors: Usage, also for https; they do not contain the values of headers,
    /// which may be secret.
    [[nodiscard]] static Result<Collector> parse(std::string_view url, std::string_view headers = {});
};

/// Sends the spans and metrics that the collector receives, waits for the replies, and returns the collector's
/// warnings. If a reply allows it, sends a request again within `patience`. Errors: Run, with the address of the
/// collector, if it cannot be reached, does not reply in time, or rejects some of the data.
[[nodiscard]] Result<std::vector<std::string>> send(const Collector& collector, const Telemetry& telemetry,
                                                    std::chrono::milliseconds patience);

/// Sends telemetry in the background. A request is sent again, after a pause, if the collector cannot be reached or its
/// reply allows it (429, 502, 503, 504); rejected requests are dropped. If the queue is full, the oldest telemetry is
/// dropped. Only finish() blocks.
class Exporter {
public:
    static constexpr std::size_t kQueue = 256; ///< maximum number of queued Telemetry objects

    /// `patience` limits each attempt; `pause` is the wait after the first failure and doubles up to 32 × `pause`.
    /// The collector can request longer waits (Retry-After).
    explicit Exporter(Collector collector, std::chrono::milliseconds patience = std::chrono::seconds(5),
                      std::chrono::milliseconds pause = std::chrono::seconds(1));
    Exporter(const Exporter&) = delete;
    Exporter& operator=(const Exporter&) = delete;
    ~Exporter();

    void add(Telemetry telemetry);
    /// Returns the failures and warnings since the last call. Each kind is returned only once: a reason for no reply,
    /// or a signal with the code of the reply.
    [[nodiscard]] std::vector<Error> takeProblems();
    /// Waits until everything is sent, but for at most `longest`. Returns the number of Telemetry objects left.
    std::size_t finish(std::chrono::milliseconds longest);
    /// Number of Telemetry objects that were dropped because the queue was full.
    [[nodiscard]] std::size_t dropped() const;
    /// Number of Telemetry objects with a request that the collector rejected.
    [[nodiscard]] std::size_t rejected() const;

private:
    struct State;
    static void work(const std::shared_ptr<State>& state);

    std::shared_ptr<State> state_; ///< shared with the thread, which may outlive this object during a name lookup
    std::thread thread_;
};

} // namespace bubblescope::otlp
