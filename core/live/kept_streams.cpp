#include "core/live/kept_streams.h"

#include <algorithm>
#include <cctype>
#include <system_error>

namespace bubblescope::profiler {
namespace {

constexpr std::size_t kMaxBefore = std::size_t{1} << 20; ///< bytes in which a stream must have said what it is
constexpr std::string_view kTraceExtension = ".pftrace";

/// What others send decides on the name of a file here, but on no folder.
std::string asFileName(std::string name) {
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '_');
    constexpr std::size_t kLongest = 200;
    if (name.size() > kLongest) name.erase(0, name.size() - kLongest);
    return name.empty() || name.front() == '.' ? "_" + name : name;
}

/// "rank2.pid77" of "rank2.pid77.1".
std::string withoutPart(const std::string& stem) {
    const std::size_t dot = stem.rfind('.');
    const bool numbered =
        dot != std::string::npos && dot + 1 < stem.size() &&
        std::ranges::all_of(stem.substr(dot + 1), [](unsigned char c) { return std::isdigit(c) != 0; });
    return numbered ? stem.substr(0, dot) : stem;
}

} // namespace

void KeptStreams::feed(File& file, const std::string& sender, const std::string& name, std::string_view bytes,
                       std::optional<bool> captured) {
    if (file.unwanted) return;
    if (!captured && file.beginning.size() + bytes.size() <= kMaxBefore) {
        file.beginning += bytes;
        return;
    }
    file.unwanted = !captured.value_or(false);
    if (!file.unwanted) {
        Status kept = file.beginning.empty() ? Status() : append(file, sender, name, file.beginning);
        if (kept.ok()) kept = append(file, sender, name, bytes);
        if (!kept.ok()) {
            problem_ = kept.error().text();
            file.unwanted = true;
        }
    }
    file.beginning = {};
    if (file.unwanted) file.file.reset();
}

Status KeptStreams::append(File& file, const std::string& sender, const std::string& name, std::string_view bytes) {
    if (!file.file) {
        const std::filesystem::path path = pathOf(sender, name);
        std::error_code ignored; // perfetto::PacketFile says what is wrong
        std::filesystem::create_directories(path.parent_path(), ignored);
        BUBBLESCOPE_ASSIGN(perfetto::PacketFile made, perfetto::PacketFile::create(path));
        file.file = std::move(made);
        removeOld(sender, name, path);
    }
    return file.file->append(bytes);
}

std::filesystem::path KeptStreams::pathOf(const std::string& sender, const std::string& name) const {
    // A host may record several jobs into several folders, with equal names in them.
    const std::filesystem::path told(name);
    const std::string folder = asFileName(told.parent_path().filename().string());
    return dir_ / asFileName(sender) / folder / asFileName(told.stem().string() + std::string(kTraceExtension));
}

void KeptStreams::removeOld(const std::string& sender, const std::string& name, const std::filesystem::path& path) {
    const std::filesystem::path told(name);
    std::deque<std::filesystem::path>& parts =
        parts_[{sender, (told.parent_path() / withoutPart(told.stem().string())).string()}];
    if (std::ranges::find(parts, path) == parts.end()) parts.push_back(path);
    if (parts.size() <= kParts) return;
    std::error_code ignored; // somebody may have taken it away
    std::filesystem::remove(parts.front(), ignored);
    parts.pop_front();
}

} // namespace bubblescope::profiler
