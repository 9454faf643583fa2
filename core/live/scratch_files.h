#pragma once

#include "core/base/result.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace bubblescope::live {

/// A folder for files that nobody needs afterwards; gone with this.
class ScratchFiles {
public:
    static Result<ScratchFiles> make() {
        std::error_code code;
        std::string path = (std::filesystem::temp_directory_path(code) / "bubblescope-steps-XXXXXX").string();
        if (code || ::mkdtemp(path.data()) == nullptr)
            return runError("no folder can be made for what arrives or waits to be sent",
                            "set TMPDIR to a folder with room");
        return ScratchFiles(path);
    }
    ScratchFiles(ScratchFiles&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    ScratchFiles& operator=(ScratchFiles&& other) noexcept {
        std::swap(path_, other.path_);
        return *this;
    }
    ~ScratchFiles() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    explicit ScratchFiles(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

} // namespace bubblescope::live
