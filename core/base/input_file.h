#pragma once

#include "core/base/open_input.h"
#include "core/base/result.h"
#include "core/base/time.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

// Reads files that people write by hand: schedules, costs, rules, thresholds. Not suitable for traces.

/// Parses a hand-written file. Rejects nesting deeper than 64 levels, because later processing is recursive. Errors:
/// Input, with `where` and the byte offset; the hint is `shape`, a description of the expected file.
[[nodiscard]] Result<nlohmann::json> parseJsonDocument(std::string_view text, const std::string& where,
                                                       std::string_view shape);

/// A location in an input file, shown in errors as "FILE: path is …".
struct InputPlace {
    std::string file;
    std::string path;  ///< such as "stages[3]" or "line 5"; empty for the entire file
    std::string shape; ///< the hint of every error: a description of the expected file

    [[nodiscard]] InputPlace at(std::string_view part) const;
    [[nodiscard]] Error error(std::string_view message) const;
};

/// A hand-written file: a JSON object or, for a plain table, CSV with a header line. A CSV file becomes the object
/// {`rows_key`: [{column: cell, …}, …]}, without empty cells.
struct WrittenInput {
    nlohmann::json document; ///< an object
    InputPlace place;
    std::vector<int> lines; ///< line numbers of the rows in a CSV file; empty for JSON

    /// Location of an entry in the list `rows_key`.
    [[nodiscard]] InputPlace row(std::string_view rows_key, std::size_t index) const;
};

/// `where` is the name of the file. If `rows_key` is empty, CSV is rejected.
[[nodiscard]] Result<WrittenInput> inputFrom(std::string_view text, const std::string& where, std::string_view rows_key,
                                             std::string shape);

/// The list under `key`. Returns an error if the list is missing or empty, or if the value is not a list.
[[nodiscard]] Result<const nlohmann::json*> listField(const nlohmann::json& object, std::string_view key,
                                                      const InputPlace& place);

/// Returns an error if `object` is not an object or has an unknown key, which would otherwise be ignored.
[[nodiscard]] Status checkKeys(const nlohmann::json& object, std::initializer_list<std::string_view> known,
                               const InputPlace& place);

/// Optional fields. A time is written as "KEY": "5ms" or "KEY_ns": 5000000, a size as "KEY": "2MiB" or "KEY": 2097152,
/// a bandwidth as "KEY": "50GB/s". Numbers may also be strings, because all values in CSV files are.
[[nodiscard]] Result<std::optional<TimeNs>> timeField(const nlohmann::json& object, const std::string& key,
                                                      const InputPlace& place);
[[nodiscard]] Result<std::optional<std::int64_t>> bytesField(const nlohmann::json& object, const std::string& key,
                                                             const InputPlace& place);
[[nodiscard]] Result<std::optional<std::int64_t>> bandwidthField(const nlohmann::json& object, const std::string& key,
                                                                 const InputPlace& place);
/// An integer from 0 to `max`.
[[nodiscard]] Result<std::optional<std::int64_t>> numberField(const nlohmann::json& object, const std::string& key,
                                                              std::int64_t max, const InputPlace& place);

} // namespace bubblescope
