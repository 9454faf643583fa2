#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "runtime/checks/aadiff_options.h"

#include <optional>
#include <string>

namespace bubblescope::cli {

/// Options for the checks that a run performs in its bubbles.
class CheckOptions {
public:
    /// If `always` is set, the run performs checks even without --aadiff.
    void add(Command command, bool always);

    /// Returns nothing if the run has no checks. `device` is the name of the compute device for messages; it may be
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
