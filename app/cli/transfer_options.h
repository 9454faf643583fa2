#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// "async", "blocking", "paired" or "batched", into `name`.
void addSendModeOption(Command command, std::string& name);
[[nodiscard]] Result<SendMode> sendMode(const std::string& name);

/// The options of what transfers cost beside their latency.
class TransferOptions {
public:
    void add(Command command);

    /// `pp`: ranks that a file of links may name.
    [[nodiscard]] Result<TransferModel> model(int pp) const;

private:
    std::optional<std::string> activation_bytes_;
    std::optional<std::string> gradient_bytes_;
    std::optional<std::string> bandwidth_;
    std::string links_;
    std::string streams_ = "unlimited";
    std::string sends_ = "async";
    bool no_overlap_ = false;
};

} // namespace bubblescope::cli
