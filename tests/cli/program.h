#pragma once

#include "tests/support/scratch_folder.h"

#include <nlohmann/json.hpp>

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

/// Runs the built `bubblescope` with these arguments and waits for its end. `input` is the file that is its standard
/// input; none if empty.
[[nodiscard]] ProgramResult runProgram(const std::vector<std::string>& arguments, const std::string& input = {});

} // namespace bubblescope::test
