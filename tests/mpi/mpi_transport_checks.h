#pragma once

#include <string>

namespace bubblescope::runtime::test {

/// Checks the transport between processes directly, with clocks that differ on purpose: what arrives, in which order it
/// may be taken, and when. Empty if all is well.
[[nodiscard]] std::string checkMpiTransport(int rank, int size);

} // namespace bubblescope::runtime::test
