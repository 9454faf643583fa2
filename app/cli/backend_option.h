#pragma once

#include "core/base/result.h"
#include "runtime/device/backend.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace bubblescope::cli {

/// Where `run` executes ops.
class BackendOption {
public:
    void add(CLI::App& command);

    /// Null for the CPU. Errors: Usage for a backend that this build does not have, Run where there is no GPU.
    [[nodiscard]] Result<std::shared_ptr<runtime::Backend>> open() const;

private:
    std::string name_ = "cpu";
    std::string precision_ = "bf16";
    int gpu_ = 0;
};

} // namespace bubblescope::cli
