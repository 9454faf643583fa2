#pragma once

#include "core/base/descriptor.h"
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

/// A listening socket that never blocks; `address.port` becomes the real one. Error: Run, naming the address.
[[nodiscard]] Result<Descriptor> listenAt(Address& address);

/// A connection that never blocks, and may still be under way: writable once that is settled. Error: Run, naming the
/// address.
[[nodiscard]] Result<Descriptor> connectTo(const Address& address);

/// The next connection, which never blocks; not open where there is none.
[[nodiscard]] Descriptor acceptFrom(const Descriptor& listener);

} // namespace bubblescope::net
