#pragma once

#include "core/base/result.h"
#include "core/net/socket.h"
#include "core/otlp/telemetry.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace bubblescope::otlp {

/// Address of a collector that receives OTLP over HTTP.
struct Collector {
    std::string url; ///< URL as entered by the user
    net::Address address;
    std::string path; ///< path before /v1/traces; either empty or starts with '/'
    bool takes_traces = true;
    bool takes_metrics = true;

    /// Parses "http://HOST[:PORT][/PATH]" or "HOST[:PORT]"; the default port is 4318. If PATH ends with /v1/traces or
    /// /v1/metrics, the collector receives only these. Errors: Usage, also for https.
    [[nodiscard]] static Result<Collector> parse(std::string_view url);
};

/// Sends the spans and metrics that the collector receives, and waits for the replies. Errors: Run, with the address of
/// the collector, if it cannot be reached, does not reply in time, or rejects some of the data.
[[nodiscard]] Status send(const Collector& collector, const Telemetry& telemetry, std::chrono::milliseconds patience);

/// Sends telemetry in the background. After a failure, telemetry is sent again after a pause; if the queue is full, the
/// oldest telemetry is dropped. Only finish() blocks.
class Exporter {
public:
    static constexpr std::size_t kQueue = 256; ///< maximum number of queued Telemetry objects

    /// `patience` limits each attempt; `pause` is the first pause after a failure; pauses double up to 32 × `pause`.
    explicit Exporter(Collector collector, std::chrono::milliseconds patience = std::chrono::seconds(5),
                      std::chrono::milliseconds pause = std::chrono::seconds(1));
    Exporter(const Exporter&) = delete;
    Exporter& operator=(const Exporter&) = delete;
    ~Exporter();

    void add(Telemetry telemetry);
    /// Returns the reason for the last failure; empty if there was none since the last call.
    [[nodiscard]] std::string takeProblem();
    /// Waits until everything is sent, but at most `longest`. Returns the number of Telemetry objects left.
    std::size_t finish(std::chrono::milliseconds longest);
    [[nodiscard]] std::size_t dropped() const;

private:
    struct State;
    static void work(const std::shared_ptr<State>& state);

    std::shared_ptr<State> state_; ///< shared with the thread, which may outlive this object during a name lookup
    std::thread thread_;
};

} // namespace bubblescope::otlp
