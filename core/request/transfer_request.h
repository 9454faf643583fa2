#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// "async", "blocking", "paired" or "batched". Error: Usage, for any other name.
[[nodiscard]] Result<SendMode> parseSendMode(std::string_view name);
/// "unlimited", "direction", "link" or "rank". Error: Usage, for any other name.
[[nodiscard]] Result<CommStreams> parseCommStreams(std::string_view name);

/// The user's options for the cost of transfers, apart from their latency.
struct TransferRequest {
    TransferModel stated;                       ///< excludes links and, if given separately, gradient_bytes
    std::optional<std::int64_t> gradient_bytes; ///< defaults to stated.activation_bytes
    std::string links;                          ///< a file; empty: none

    bool eager_sends = false; ///< small sends complete early, so that sizes matter even if bytes take no time

    /// `pp` is the number of ranks that a file of links may name. `timed` means that transfers take time for another
    /// reason, such as a latency. Rejects options that have no effect. Errors: Usage, Input.
    [[nodiscard]] Result<TransferModel> model(int pp, bool timed) const;
};

} // namespace bubblescope
