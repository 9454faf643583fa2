#include "core/net/address.h"

#include "core/base/text.h"

#include <fmt/format.h>

namespace bubblescope::net {

std::string Address::text() const {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<Address> parseAddress(std::string_view text) {
    Address address{"127.0.0.1", 0};
    const std::size_t colon = text.rfind(':');
    std::string_view host = colon == std::string_view::npos ? std::string_view() : text.substr(0, colon);
    const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (!host.empty()) address.host = host;
    const auto number = parseNumber<int>(port);
    constexpr int kLast = 65535;
    if (!number || *number < 0 || *number > kLast) {
        return usageError(fmt::format("'{}' is no address", text), "give HOST:PORT, or PORT for this machine alone");
    }
    address.port = *number;
    return address;
}

} // namespace bubblescope::net
