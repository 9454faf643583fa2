#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/mesh.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::cli {

/// Keeps the order in which keys are added, so that documents read as they are described.
using Json = nlohmann::ordered_json;

/// The one JSON document of a command, on stdout.
void printJson(const Json& document);

/// Text for people, on stdout. Control characters other than line ends and tabs become '?', here and below.
void printText(std::string_view text);

/// What went wrong, on stderr.
void printError(std::string_view text);

/// Data faults, on stderr.
void printProblems(const std::vector<Diagnostic>& problems);

[[nodiscard]] Json problemsJson(const std::vector<Diagnostic>& problems);

/// {"pp": 1, "dp": 0, …}
[[nodiscard]] Json placeJson(const MeshNumbers& place);
/// "pp 1, dp 0, …"
[[nodiscard]] std::string placeText(const MeshNumbers& place);

/// The files of a run: the one, or their folder and number.
[[nodiscard]] std::string filesText(const std::vector<std::filesystem::path>& files);

} // namespace bubblescope::cli
