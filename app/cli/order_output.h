#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/frameworks/order_setup.h"
#include "core/report/document.h"
#include "core/schedule/action.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// Where an order goes: --out FILE, and --for FRAMEWORK, which states what has to be set there.
class OrderOutput {
public:
    void add(Command command);

    /// True if --for is given.
    [[nodiscard]] bool forFramework() const { return !framework_.empty(); }
    /// Writes the file, if one is asked for: PyTorch's CSV if its name ends in .csv or a framework reads it, else JSON.
    /// Returns the settings of the framework, if one is named; writes nothing if the framework cannot run the order.
    [[nodiscard]] Result<std::optional<OrderSetup>> write(const Schedule& schedule) const;
    /// Writes the order with all actions; a framework's file contains only the ops.
    [[nodiscard]] Result<std::optional<OrderSetup>> write(const LoweredSchedule& lowered) const;
    /// States where the file is; nothing if there is none.
    [[nodiscard]] std::string writtenLine() const;

private:
    std::string out_;
    std::string framework_;
};

/// The settings that a user must make, for people, and as "framework" for programs: null if none was named.
void addSetup(report::Section& document, const std::optional<OrderSetup>& setup);

} // namespace bubblescope::cli
