#pragma once

#include "core/base/result.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// Finds a function of CUDA's driver by its name; null if it has none. Drivers before 12.4 do not have green contexts.
using DriverFunctions = std::function<void*(const char* name)>;

/// The functions of the driver that this process has loaded; all null if there is none.
[[nodiscard]] DriverFunctions loadedDriver();

struct GreenCalls; ///< the driver's functions for green contexts

/// Some of a GPU's processors, for streams whose kernels only run on these (a green context of the driver). Memory and
/// events are those of the GPU. Thread-safe.
class ProcessorShare {
public:
    ProcessorShare(std::shared_ptr<const GreenCalls> calls, void* context, int processors);
    ProcessorShare(const ProcessorShare&) = delete;
    ProcessorShare& operator=(const ProcessorShare&) = delete;
    ~ProcessorShare();

    [[nodiscard]] int processors() const { return processors_; }
    /// A CUstream that does not synchronise with the default stream; smaller priorities go first. Destroyed like any
    /// stream, before the share. Throws std::runtime_error with the driver's message.
    [[nodiscard]] void* makeStream(int priority) const;

private:
    std::shared_ptr<const GreenCalls> calls_;
    void* context_;
    int processors_;
};

/// Divides the processors of a GPU, which the process must be using, into that many shares of equal size, as large as
/// the driver's granularity allows. Error: Run, with the reason, if the driver cannot.
[[nodiscard]] Result<std::vector<std::shared_ptr<ProcessorShare>>> divideProcessors(const DriverFunctions& driver,
                                                                                    int gpu, int shares);

} // namespace bubblescope::runtime
