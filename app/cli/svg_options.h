#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/report/results/drawing.h"

#include <span>
#include <string>

namespace bubblescope::cli {

/// Options of commands that can draw a step.
class SvgOptions {
public:
    void add(Command command);

    [[nodiscard]] bool wanted() const { return !file_.empty(); }
    /// Draws the steps one below the other and prints the name of the file; does nothing without --svg.
    [[nodiscard]] Status write(std::span<const report::Drawn> drawn) const;

private:
    std::string file_;
    svg::DrawOptions drawing_;
    bool consolidated_ = false;
};

} // namespace bubblescope::cli
