#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <fstream>
#include <string_view>

namespace bubblescope {

/// Writes beside the target and takes its place at the end, so that a failure never leaves half a file
/// under the name people look for.
class ReplacingFile {
public:
    explicit ReplacingFile(std::filesystem::path target);
    ~ReplacingFile();
    ReplacingFile(const ReplacingFile&) = delete;
    ReplacingFile& operator=(const ReplacingFile&) = delete;

    void write(std::string_view bytes) { stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); }

    /// Puts the file in place. Errors: Input, when it or anything before it could not be written.
    [[nodiscard]] Status commit();

private:
    std::filesystem::path target_;
    std::filesystem::path temporary_;
    std::ofstream stream_;
    bool committed_ = false;
};

} // namespace bubblescope
