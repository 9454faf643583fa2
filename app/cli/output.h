#pragma once

#include "core/base/diagnostic.h"

#include <nlohmann/json.hpp>

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

} // namespace bubblescope::cli
