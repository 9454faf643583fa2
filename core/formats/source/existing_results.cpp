#include "core/formats/source/existing_results.h"

#include "core/base/field.h"
#include "core/formats/source/standard_output.h"

#include <fmt/format.h>

#include <system_error>
#include <vector>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> filesWith(std::string_view ending, const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code failed; // a missing or unreadable folder is reported when files are written to it
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
        std::error_code unknown;
        const auto kind = at->symlink_status(unknown).type();
        const bool file = kind == fs::file_type::regular || kind == fs::file_type::symlink;
        if (!unknown && file && at->path().filename().string().ends_with(ending)) found.push_back(at->path());
    }
    return found;
}

} // namespace

Status mustBeNew(const fs::path& file) {
    std::error_code failed;
    if (file == kStandardOutput || !fs::is_regular_file(file, failed) || fs::file_size(file, failed) == 0 || failed)
        return {};
    return usageError(fmt::format("{} exists", file.string()),
                      fmt::format("use {} to replace it, or another name", Field("force")));
}

Status mustHoldNone(const fs::path& folder, std::string_view ending) {
    const std::vector<fs::path> found = filesWith(ending, folder);
    if (found.empty()) return {};
    return usageError(fmt::format("{} contains earlier results: {}{}", folder.string(),
                                  found.front().filename().string(),
                                  found.size() > 1 ? fmt::format(" and {} more", found.size() - 1) : ""),
                      fmt::format("use {} to replace them, or another folder", Field("force")));
}

Status removeAll(const fs::path& folder, std::string_view ending) {
    for (const fs::path& file : filesWith(ending, folder)) {
        std::error_code failed;
        fs::remove(file, failed);
        if (failed) return inputError(file.string(), fmt::format("cannot be removed: {}", failed.message()));
    }
    return {};
}

} // namespace bubblescope
