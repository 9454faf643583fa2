#pragma once

#include "core/base/result.h"
#include "profiler/capture/capture_options.h"

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::profiler {

/// Finds the library that jobs load: the file named by BUBBLESCOPE_INJECT_LIBRARY, or a file next to the installed
/// program or in the build folder. Error: Input, listing the paths that were tried.
[[nodiscard]] Result<std::filesystem::path> findInjectLibrary(const ReadVariable& variable);

/// Finds the library that framework adapters use for checks in bubbles: the file named by BUBBLESCOPE_AADIFF_LIBRARY,
/// or a file near the library that jobs load. Error: Input, listing the paths that were tried.
[[nodiscard]] Result<std::filesystem::path> findChecksLibrary(const std::filesystem::path& library,
                                                              const ReadVariable& variable);

/// The environment variables that make every process of a job load the library and write into options.dir, which is
/// made absolute. Python processes also load the framework adapters next to the library, unless these are disabled or
/// missing. PYTHONPATH is then the adapters' folder followed by the value from `variable`. Error: Input if checks in
/// bubbles or Python ranges are requested but their files are missing.
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>>
captureEnvironment(const std::filesystem::path& library, const CaptureOptions& options, const ReadVariable& variable);

struct JobEnd {
    int exit_code = 0;          ///< as in a shell: 128 plus the signal's number; 126 or 127 if the program did not
                                ///< start
    std::string why_not;        ///< reason why the program could not be started; empty if it started
    bool asked_to_stop = false; ///< true if SIGINT or SIGTERM arrived while the job ran
};

/// Runs a program with variables added to this process's environment, and waits for it to end. The program remains a
/// zombie, so that the watcher learns which signal ended it, however late it looks. Forwards signals sent to this
/// process. Signals from the terminal or to the whole process group reach the program directly and are not forwarded.
/// Only one call at a time; no other thread of this process may rely on signals.
[[nodiscard]] JobEnd runJob(std::span<const std::string> command,
                            std::span<const std::pair<std::string, std::string>> variables);

} // namespace bubblescope::profiler
