#include "core/formats/trace_files.h"

#include "core/base/text.h"
#include "core/formats/notes_file.h"
#include "core/formats/sniff.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

/// Orders "rank2" before "rank10".
bool naturallyBefore(std::string_view a, std::string_view b) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (!isDigit(a[i]) || !isDigit(b[j])) {
            if (a[i] != b[j]) return a[i] < b[j];
            ++i, ++j;
            continue;
        }
        const auto number = [](std::string_view text, std::size_t& at) {
            const std::size_t begin = at;
            while (at < text.size() && isDigit(text[at]))
                ++at;
            const std::size_t first = std::min(at, text.find_first_not_of('0', begin));
            return text.substr(first, at - first);
        };
        const std::string_view left = number(a, i);
        const std::string_view right = number(b, j);
        if (left.size() != right.size()) return left.size() < right.size();
        if (left != right) return left < right;
    }
    return a.size() - i < b.size() - j;
}

/// The decompressed beginning of a compressed file.
std::string unpackedBeginning(std::string_view packed) {
    JobControl control;
    LoadProgress progress(control, packed.size());
    const auto unpacked = unpack(packed, *packingOf(packed), {}, progress);
    return unpacked.ok() ? std::string(unpacked.value().bytes.text()) : std::string{};
}

bool looksLikeTrace(const fs::path& file) {
    if (isNotesFile(file)) return false; // users' notes beside the trace
    std::ifstream stream(file, std::ios::binary);
    std::string beginning(std::size_t{64} << 10, '\0');
    stream.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(stream.gcount()));
    if (packingOf(beginning)) beginning = unpackedBeginning(beginning);
    switch (sniffFormat(beginning)) {
    case FileFormat::Json:
    case FileFormat::Sqlite:
    case FileFormat::PaddleLog:
    case FileFormat::TorchtitanLog:
    case FileFormat::Perfetto: return true;
    case FileFormat::Packed:
    case FileFormat::Empty:
    case FileFormat::ScheduleCsv:
    case FileFormat::Unknown: return false;
    }
    return false;
}

Status addFolder(const fs::path& folder, std::vector<InputFile>& files) {
    std::error_code failed;
    std::vector<InputFile> found;
    std::size_t seen = 0;
    fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed);
    for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
        std::error_code ignored;
        if (!entry->is_regular_file(ignored)) continue;
        ++seen;
        if (!looksLikeTrace(entry->path())) continue;
        const auto bytes = entry->file_size(ignored);
        found.push_back({entry->path(), false, ignored ? 0 : bytes});
    }
    if (failed) return inputError(folder.string(), fmt::format("cannot be listed: {}", failed.message()));
    if (found.empty()) {
        return inputError(folder.string(), fmt::format("holds no trace file among its {} files", seen),
                          "traces are JSON with 'traceEvents' (or an array of events) or Perfetto files, packed with "
                          "gzip or zstd or not");
    }
    std::sort(found.begin(), found.end(),
              [](const InputFile& a, const InputFile& b) { return naturallyBefore(a.path.string(), b.path.string()); });
    files.insert(files.end(), found.begin(), found.end());
    return {};
}

} // namespace

Result<std::vector<InputFile>> findTraceFiles(const std::vector<fs::path>& paths) {
    std::vector<InputFile> files;
    for (const fs::path& path : paths) {
        if (path == kStandardInput) {
            files.push_back({path, true, 0});
            continue;
        }
        std::error_code failed;
        const auto status = fs::status(path, failed);
        if (!fs::exists(status)) {
            return inputError(path.string(), failed && status.type() != fs::file_type::not_found
                                                 ? fmt::format("cannot be opened: {}", failed.message())
                                                 : "does not exist");
        }
        if (fs::is_directory(status)) {
            BUBBLESCOPE_TRY(addFolder(path, files));
            continue;
        }
        const auto bytes = fs::file_size(path, failed);
        files.push_back({path, true, failed ? 0 : bytes});
    }
    if (files.empty()) return inputError({}, "no trace file was named");
    return files;
}

std::optional<std::int32_t> rankInName(std::string_view name) {
    const std::size_t word = name.rfind("rank");
    if (word == std::string_view::npos) return std::nullopt;
    std::size_t at = word + 4;
    while (at < name.size() && (name[at] == '_' || name[at] == '-' || name[at] == '.'))
        ++at;
    name.remove_prefix(at);
    const auto rank = takeNumber<std::int32_t>(name);
    return rank && *rank >= 0 ? rank : std::nullopt;
}

} // namespace bubblescope
