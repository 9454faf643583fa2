#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"

#include <optional>
#include <string>

namespace bubblescope {

/// "async", "blocking", "paired" or "batched". Error: Usage, for any other name.
[[nodiscard]] Result<SendMode> sendMode(const std::string& name);

/// What a user states about the cost of transfers, apart from their latency, in the words of the command line: sizes as
/// "32MiB", rates as "50GB/s".
struct TransferRequest {
    std::optional<std::string> activation_bytes;
    std::optional<std::string> gradient_bytes; ///< as many as activation_bytes if not given
    std::optional<std::string> bandwidth;      ///< unlimited if not given
    std::string links;                         ///< a file; empty: none
    std::string streams = "unlimited";
    std::string sends = "async";
    bool no_overlap = false; ///< transfers hold up the rank that sends them

    /// `pp`: ranks that a file of links may name. Errors: Usage, Input.
    [[nodiscard]] Result<TransferModel> model(int pp) const;
};

} // namespace bubblescope
