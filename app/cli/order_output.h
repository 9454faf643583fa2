#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/frameworks/order_setup.h"
#include "core/report/document.h"
#include "core/schedule/action.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// Options for writing an order: --out FILE, and --for FRAMEWORK, which also prints settings for the framework.
class OrderOutput {
public:
    void add(Command command);

    /// Writes the file if requested, as PyTorch's CSV if its name ends in .csv or the framework reads it, otherwise as
    /// JSON. Returns the framework's settings, if --for is given; writes nothing if the framework cannot run the order.
    [[nodiscard]] Result<std::optional<OrderSetup>> write(const Schedule& schedule) const;
    /// Writes the order with all actions, or only with its ops if the file is for a framework.
    [[nodiscard]] Result<std::optional<OrderSetup>> write(const LoweredSchedule& lowered) const;
    /// A line that names the written file; empty if there is none.
    [[nodiscard]] std::string writtenLine() const;

private:
    std::string out_;
    std::string framework_;
};

/// Adds the framework's settings, as text for users and as "framework" in JSON (null without --for).
void addSetup(report::Section& document, const std::optional<OrderSetup>& setup);

} // namespace bubblescope::cli
