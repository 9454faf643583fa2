#pragma once

#include "core/base/descriptor.h"
#include "core/live/live_analyzer.h"
#include "core/net/socket.h"

#include <chrono>
#include <functional>
#include <list>
#include <string>

namespace bubblescope::live {

/// The state of a live view in Prometheus's text format 0.0.4, with base units, counters named _total, and
/// low-cardinality labels.
[[nodiscard]] std::string exposition(const LiveAnalyzer& analyzer);

/// An HTTP server for a single page of metrics. serve() never blocks: it does only what is possible without waiting.
/// May be used by only one thread at a time.
class MetricsEndpoint {
public:
    using Clock = std::chrono::steady_clock;

    /// Error: Run; the message contains the address.
    [[nodiscard]] static Result<MetricsEndpoint> open(net::Address address);

    /// Accepts connections, reads requests, and responds to those for "/metrics" (and "/") with the result of `page`.
    void serve(const std::function<std::string()>& page, Clock::time_point now = Clock::now());

    /// Becomes readable when serve() should be called.
    [[nodiscard]] int descriptor() const { return events_.get(); }
    [[nodiscard]] const net::Address& address() const { return address_; } ///< address with the actual port

private:
    struct Connection {
        net::Socket socket;
        std::string request;
        std::string answer;
        std::size_t sent = 0;
        Clock::time_point since;
        bool done = false;
    };

    void take(Clock::time_point now);
    void advance(Connection& connection, const std::function<std::string()>& page);

    net::Address address_;
    net::Listener listener_;
    Descriptor events_;
    std::list<Connection> connections_;
};

} // namespace bubblescope::live
