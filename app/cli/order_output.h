#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/frameworks/order_setup.h"
#include "core/report/document.h"
#include "core/schedule/action.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// Options for writing an order: --out FILE, and --for FRAMEWORK, which also prints the settings for the framework.
class OrderOutput {
public:
    void add(Command command);

    /// True if --for is given.
    [[nodiscard]] bool forFramework() const { return !framework_.empty(); }
    /// Writes the file if requested: PyTorch's CSV for names in .csv and for frameworks, otherwise JSON. Returns the
    /// framework's settings if one is named. If the framework cannot run the order, no file is written.
    [[nodiscard]] Result<std::optional<OrderSetup>> write(const Schedule& schedule) const;
    /// Writes the order with all its actions, but only the ops if the file is for a framework.
    [[nodiscard]] Result<std::optional<OrderSetup>> write(const LoweredSchedule& lowered) const;
    /// A line that names the written file; empty if there is none.
    [[nodiscard]] std::string writtenLine() const;

private:
    std::string out_;
    std::string framework_;
};

/// Adds the settings that the user must make as text, and in JSON as "framework" (null without --for).
void addSetup(report::Section& document, const std::optional<OrderSetup>& setup);

} // namespace bubblescope::cli
