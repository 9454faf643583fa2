#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/frameworks/order_setup.h"
#include "core/report/document.h"
#include "core/schedule/action.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// The options for writing an order: --out FILE, and --for FRAMEWORK, which prints the settings needed there.
class OrderOutput {
public:
    void add(Command command);

    /// True if --for is given.
    [[nodiscard]] bool forFramework() const { return !framework_.empty(); }
    /// Writes the file if requested: PyTorch's CSV if its name ends in .csv or a framework reads it, otherwise JSON.
    /// Returns the framework's settings if one is named; writes nothing if the framework cannot run the order.
    [[nodiscard]] Result<std::optional<OrderSetup>> write(const Schedule& schedule) const;
    /// Writes the order with all actions; a framework's file contains only the ops.
    [[nodiscard]] Result<std::optional<OrderSetup>> write(const LoweredSchedule& lowered) const;
    /// A line that says where the file is; empty if there is none.
    [[nodiscard]] std::string writtenLine() const;

private:
    std::string out_;
    std::string framework_;
};

/// Adds the settings that a user must make, for people, and as "framework" for programs (null if none was named).
void addSetup(report::Section& document, const std::optional<OrderSetup>& setup);

} // namespace bubblescope::cli
