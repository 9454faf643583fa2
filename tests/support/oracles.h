#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace bubblescope::test {

using Json = nlohmann::json;

/// Job orders and tables from other programs and papers, in tests/data/oracles. The README.md there lists the
/// sources.

/// The document with this name, such as "paddle/1f1b.json", or the lines of a CSV file. Aborts the tests on failure.
[[nodiscard]] const Json& oracleDocument(const std::string& file);

/// Names of all documents.
[[nodiscard]] std::vector<std::string> oracleFiles();

} // namespace bubblescope::test
