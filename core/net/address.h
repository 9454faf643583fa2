#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>

namespace bubblescope::net {

/// An address to listen on or to connect to.
struct Address {
    std::string host; ///< "127.0.0.1" by default
    int port = 0;     ///< 0 = any free port, for listening

    [[nodiscard]] std::string text() const; ///< "host:port"
};

/// Parses "HOST:PORT", "[IPV6]:PORT", ":PORT" or "PORT". The default host is the loopback, so that nothing is exposed
/// unless asked for. Errors: Usage.
[[nodiscard]] Result<Address> parseAddress(std::string_view text);

} // namespace bubblescope::net
