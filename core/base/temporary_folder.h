#pragma once

#include "core/base/result.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace bubblescope {

/// Creates a folder in the system's temporary folder; the destructor removes it with its contents.
class TemporaryFolder {
public:
    /// Creates a folder whose name starts with `prefix`. On failure, returns `failure`.
    [[nodiscard]] static Result<TemporaryFolder> make(std::string_view prefix, Error failure) {
        std::error_code code;
        std::string path = (std::filesystem::temp_directory_path(code) / (std::string(prefix) + "-XXXXXX")).string();
        if (code || ::mkdtemp(path.data()) == nullptr) return failure;
        return TemporaryFolder(path);
    }
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
        std::swap(path_, other.path_);
        return *this;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;
};

} // namespace bubblescope
