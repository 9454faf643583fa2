#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "profiler/kernels/kernel_recorder.h"
#include "runtime/backend/backend.h"

#include <memory>
#include <optional>
#include <string>

namespace bubblescope::cli {

/// Where `run` executes ops.
class BackendOption {
public:
    void add(Command command);

    [[nodiscard]] bool isCpu() const { return name_ == "cpu"; }
    /// Starts the recording of kernels, unless it is switched off or nothing runs on a GPU; to be called before open().
    /// Null if nothing is recorded; `reason` then receives why, if the user did not ask for it.
    [[nodiscard]] std::shared_ptr<profiler::KernelRecorder> recordKernels(std::string& reason) const;
    /// Whether ranks that share a GPU get processors of their own, if its driver can.
    [[nodiscard]] bool dividesGpu() const { return !isCpu() && partition_ == "auto"; }
    /// Null for the CPU. `own_process`: the rank is a process, which takes a GPU by its number on the host. Errors:
    /// Usage for a backend that this build does not have, Run where there is no GPU.
    [[nodiscard]] Result<std::shared_ptr<runtime::Backend>> open(bool own_process) const;

private:
    std::string name_ = "cpu";
    std::string precision_ = "bf16";
    std::string partition_ = "auto";
    std::optional<int> gpu_;
    bool graphs_ = false;
    bool no_kernels_ = false;
};

} // namespace bubblescope::cli
