#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>

namespace bubblescope::net {

/// Where to listen or to connect to.
struct Address {
    std::string host; ///< "127.0.0.1" unless given
    int port = 0;     ///< 0 = one that is free, for listening

    [[nodiscard]] std::string text() const; ///< "host:port"
};

/// "HOST:PORT", "[IPV6]:PORT", ":PORT" or "PORT"; without a host the loopback, so that nobody outside is served unless
/// told so. Errors: Usage.
[[nodiscard]] Result<Address> parseAddress(std::string_view text);

} // namespace bubblescope::net
