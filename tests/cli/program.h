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

    /// Parses stdout as exactly one JSON document; otherwise, the test fails.
    [[nodiscard]] nlohmann::json json() const;
};

/// Runs the built `bubblescope` with these arguments and waits for it to end. `input` is a file for its standard input;
/// empty = none.
[[nodiscard]] ProgramResult runProgram(const std::vector<std::string>& arguments, const std::string& input = {});

} // namespace bubblescope::test
