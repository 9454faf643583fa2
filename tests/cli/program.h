#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace bubblescope::test {

struct ProgramResult {
    int exit_code = -1;
    std::string out;
    std::string err;

    /// stdout as exactly one JSON document; the test fails if it is not one.
    [[nodiscard]] nlohmann::json json() const;
};

/// Runs the built `bubblescope` with these arguments and waits for its end.
[[nodiscard]] ProgramResult runProgram(const std::vector<std::string>& arguments);

/// A folder of this test's own, empty at the start and gone at the end.
class ScratchFolder {
public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
    /// Writes a file and returns its path.
    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const;

private:
    std::filesystem::path path_;
};

} // namespace bubblescope::test
