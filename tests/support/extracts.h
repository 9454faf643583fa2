#pragma once

#include "core/analysis/extract_file.h"
#include "core/formats/read_trace.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace bubblescope::test {

/// Extracts a file, or the trace files in a folder to the same paths below `out`. Files are extracted regardless of
/// their size; files that cannot be extracted are copied. Returns the extract or its folder; an empty path if there is
/// no trace.
inline std::filesystem::path extractAll(const std::filesystem::path& raw, const std::filesystem::path& out) {
    namespace fs = std::filesystem;
    const auto files = findTraceFiles({raw});
    if (!files.ok()) return {};
    fs::path last;
    for (const InputFile& file : files.value()) {
        const fs::path below = fs::is_directory(raw) ? file.path.lexically_relative(raw) : file.path.filename();
        last = out / extractName(below);
        fs::create_directories(last.parent_path());
        JobControl control;
        if (!extractAnyFile(file.path, last, {}, control).ok()) fs::copy_file(file.path, last);
    }
    return fs::is_directory(raw) ? out : last;
}

inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

/// Replaces the names of an extract and its trace with the same name, so that outputs for both must be equal.
inline std::string withoutPlaces(std::string text, const std::filesystem::path& raw,
                                 const std::filesystem::path& extracts) {
    text = replaced(std::move(text), extracts.string(), "PLACE");
    text = replaced(std::move(text), raw.string(), "PLACE");
    return replaced(std::move(text), extractName({}).string(), "");
}

} // namespace bubblescope::test
