#pragma once

#include <string>

namespace bubblescope::runtime::test {

/// Checks the transport between processes directly, with intentionally different clocks: contents, order and times of
/// arrival. Returns an empty text on success.
[[nodiscard]] std::string checkMpiTransport(int rank, int size);

} // namespace bubblescope::runtime::test
