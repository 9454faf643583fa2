#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "runtime/checks/aadiff_options.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// The options by which a run checks itself in its bubbles.
class CheckOptions {
public:
    /// `always`: the run does so without --aadiff.
    void add(Command command, bool always);

    /// Nothing where the run does not check itself. `device`: what names the one that computes, for messages; may be
    /// empty. Errors: Usage.
    [[nodiscard]] Result<std::optional<runtime::AadiffOptions>> options(std::string device) const;

private:
    bool on_ = false;
    double margin_ = 10;
    double cost_ = 0.3;
    std::optional<std::int64_t> memory_;
    bool no_digests_ = false;
    std::string on_mismatch_ = "warn";
};

} // namespace bubblescope::cli
