#pragma once

#include "core/base/result.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// Returns a function of the CUDA driver by name, or null if the driver lacks it. CUDA drivers before 12.4 do not
/// support green contexts.
using DriverFunctions = std::function<void*(const char* name)>;

/// Finds functions in the driver that this process has loaded; all are null if there is no driver.
[[nodiscard]] DriverFunctions loadedDriver();

struct GreenCalls; ///< the driver's functions for green contexts

/// A subset of a GPU's processors, for streams whose kernels run only on this subset (a green context of the driver).
/// Memory and events are shared with the rest of the GPU. Thread-safe.
class ProcessorShare {
public:
    ProcessorShare(std::shared_ptr<const GreenCalls> calls, void* context, int processors);
    ProcessorShare(const ProcessorShare&) = delete;
    ProcessorShare& operator=(const ProcessorShare&) = delete;
    ~ProcessorShare();

    [[nodiscard]] int processors() const { return processors_; }
    /// Creates a CUstream that does not synchronise with the default stream; lower numbers have higher priority.
    /// Destroy the stream like any other, but before the share. Throws std::runtime_error with the driver's message.
    [[nodiscard]] void* makeStream(int priority) const;

private:
    std::shared_ptr<const GreenCalls> calls_;
    void* context_;
    int processors_;
};

/// Divides the processors of a GPU that the process is using into this many shares of equal size, as large as the
/// driver's granularity allows. Error: Run, with the reason, if the driver does not support this.
[[nodiscard]] Result<std::vector<std::shared_ptr<ProcessorShare>>> divideProcessors(const DriverFunctions& driver,
                                                                                    int gpu, int shares);

} // namespace bubblescope::runtime
