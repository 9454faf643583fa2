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

/// Where a collector receives OTLP over HTTP.
struct Collector {
    std::string url; ///< as the user wrote it
    net::Address address;
    std::string path; ///< before /v1/traces; empty, or begins with '/'

    /// "http://HOST[:PORT][/PATH]", or "HOST[:PORT]"; the default port is 4318. Errors: Usage; also for https.
    [[nodiscard]] static Result<Collector> parse(std::string_view url);
};

/// Sends the telemetry's spans and metrics, waits for the answers. Errors: Run, naming the collector: it cannot be
/// reached, does not answer in time, or rejects something.
[[nodiscard]] Status send(const Collector& collector, const Telemetry& telemetry, std::chrono::milliseconds patience);

/// Sends telemetry in the background. After a failure, sends it again after a pause; beyond a limit, drops the oldest.
/// No call waits, except finish().
class Exporter {
public:
    static constexpr std::size_t kQueue = 256; ///< number of Telemetry to keep

    /// `patience` is the limit of one attempt, `pause` the first pause after a failure; it doubles up to 32 times that.
    explicit Exporter(Collector collector, std::chrono::milliseconds patience = std::chrono::seconds(5),
                      std::chrono::milliseconds pause = std::chrono::seconds(1));
    Exporter(const Exporter&) = delete;
    Exporter& operator=(const Exporter&) = delete;
    ~Exporter();

    void add(Telemetry telemetry);
    /// The reason for the last failure; empty if there was none since the last call.
    [[nodiscard]] std::string takeProblem();
    /// Waits at most this long until everything is sent. Returns the number of Telemetry that was not.
    std::size_t finish(std::chrono::milliseconds longest);
    [[nodiscard]] std::size_t dropped() const;

private:
    struct State;
    static void work(const std::shared_ptr<State>& state);

    std::shared_ptr<State> state_; ///< shared with the thread, which may be inside a name lookup at the end
    std::thread thread_;
};

} // namespace bubblescope::otlp
