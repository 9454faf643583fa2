#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace bubblescope::test {

using Json = nlohmann::json;

/// Job orders and tables that other programs and papers gave out: tests/data/oracles, whose README.md names the
/// sources.

/// The document with this name, such as "paddle/1f1b.json"; the lines of a CSV file. Fails the test program without it.
[[nodiscard]] const Json& oracleDocument(const std::string& file);

/// The names of all documents.
[[nodiscard]] std::vector<std::string> oracleFiles();

} // namespace bubblescope::test
