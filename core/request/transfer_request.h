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

/// A user's statements about the cost of transfers, apart from their latency.
struct TransferRequest {
    TransferModel stated;                       ///< without links and, if it differs, gradient_bytes
    std::optional<std::int64_t> gradient_bytes; ///< if not given, stated.activation_bytes
    std::string links;                          ///< a file; empty: none

    bool eager_sends = false; ///< small sends end early, so that sizes count even where bytes take no time

    /// `pp`: ranks that a file of links may name. `timed`: transfers take time by something else, such as a latency.
    /// Rejects what has no effect. Errors: Usage, Input.
    [[nodiscard]] Result<TransferModel> model(int pp, bool timed) const;
};

} // namespace bubblescope
