#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/report/results/drawing.h"

#include <span>
#include <string>

namespace bubblescope::cli {

/// The options of a drawing, for the commands that have a step to draw.
class SvgOptions {
public:
    void add(Command command);

    [[nodiscard]] bool wanted() const { return !file_.empty(); }
    /// Draws the steps one below the other and prints the file's name; does nothing without --svg.
    [[nodiscard]] Status write(std::span<const report::Drawn> drawn) const;

private:
    std::string file_;
    svg::DrawOptions drawing_;
    bool consolidated_ = false;
};

} // namespace bubblescope::cli
