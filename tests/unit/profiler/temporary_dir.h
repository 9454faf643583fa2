#pragma once

#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace bubblescope::test {

/// A folder that is gone at the end of the test.
class TemporaryDir {
public:
    TemporaryDir() {
        std::string name = (std::filesystem::temp_directory_path() / "bubblescope-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
        path_ = name;
    }
    ~TemporaryDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDir(const TemporaryDir&) = delete;
    TemporaryDir& operator=(const TemporaryDir&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

} // namespace bubblescope::test
