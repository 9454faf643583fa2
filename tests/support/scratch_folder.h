#pragma once

#include "core/base/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::test {

/// A folder for the files of a test, created empty and deleted at the end.
class ScratchFolder {
public:
    ScratchFolder() : folder_(made()) {}

    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
    [[nodiscard]] std::string file(const std::string& name) const { return (path() / name).string(); }

    /// Writes a file, creates its parent folders, and returns its path.
    std::filesystem::path write(const std::string& name, std::string_view bytes) const {
        const auto target = path() / name;
        std::filesystem::create_directories(target.parent_path());
        std::ofstream(target, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return target;
    }

    /// Like write(), but only the user can read the file.
    std::filesystem::path writeSecret(const std::string& name, std::string_view bytes) const {
        const auto target = write(name, bytes);
        std::filesystem::permissions(target, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
        return target;
    }

private:
    static TemporaryFolder made() {
        auto folder = TemporaryFolder::make("bubblescope-test", {});
        if (!folder.ok()) throw std::runtime_error("cannot create a temporary folder");
        return std::move(folder).value();
    }

    TemporaryFolder folder_;
};

inline std::string readAll(const std::filesystem::path& file) {
    // Uses compiled library code, because stream iterators are slow in tests, which are built without
    // optimisation.
    std::ostringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    return std::move(bytes).str();
}

} // namespace bubblescope::test
