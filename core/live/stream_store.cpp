#include "core/live/stream_store.h"

#include "core/base/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kMaxBefore = std::size_t{1} << 20;     ///< bytes within which a stream must state what it is
constexpr std::size_t kMaxBeginnings = std::size_t{1} << 26; ///< of all streams together
constexpr std::string_view kTraceExtension = ".pftrace";

/// Senders choose the name of a file here, but not its folder.
std::string asFileName(std::string name) {
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '_');
    constexpr std::size_t kLongest = 200;
    if (name.size() > kLongest) name.erase(0, name.size() - kLongest);
    return name.empty() || name.front() == '.' ? "_" + name : name;
}

/// Returns "rank2.pid77" for "rank2.pid77.1".
std::string withoutPart(const std::string& stem) {
    const std::size_t dot = stem.rfind('.');
    const bool numbered =
        dot != std::string::npos && dot + 1 < stem.size() &&
        std::ranges::all_of(stem.substr(dot + 1), [](unsigned char c) { return std::isdigit(c) != 0; });
    return numbered ? stem.substr(0, dot) : stem;
}

} // namespace

void StreamStore::feed(File& file, const std::string& sender, const std::string& name, std::string_view bytes,
                       std::optional<bool> captured) {
    if (file.unwanted) return;
    if (!captured && file.beginning.size() + bytes.size() <= kMaxBefore) {
        if (beginnings_ + bytes.size() > kMaxBeginnings)
            return giveUp(file, fmt::format("{}: {} does not state what it is, as many streams", sender, name));
        file.beginning += bytes;
        beginnings_ += bytes.size();
        return;
    }
    if (!captured.value_or(false)) return giveUp(file, {});
    Status kept = file.beginning.empty() ? Status() : append(file, sender, name, file.beginning);
    if (kept.ok()) kept = append(file, sender, name, bytes);
    if (!kept.ok()) return giveUp(file, kept.error().text());
    beginnings_ -= file.beginning.size();
    file.beginning = {};
}

void StreamStore::end(File& file) {
    beginnings_ -= file.beginning.size();
    file = {};
}

void StreamStore::giveUp(File& file, std::string problem) {
    end(file);
    file.unwanted = true;
    if (!problem.empty()) problem_ = std::move(problem);
}

Status StreamStore::append(File& file, const std::string& sender, const std::string& name, std::string_view bytes) {
    const auto count = static_cast<std::int64_t>(bytes.size());
    if (!makeRoom(count)) {
        return runError(fmt::format("{}: {} is not kept further: the traces take {}, and all that are there are being "
                                    "written",
                                    sender, name, formatBytes(bytes_)),
                        "give --keep-size more");
    }
    Sender& from = senders_[sender];
    if (!file.file) {
        const std::filesystem::path path = pathOf(sender, name);
        std::error_code ignored; // perfetto::PacketFile reports the error
        std::filesystem::create_directories(path.parent_path(), ignored);
        BUBBLESCOPE_ASSIGN(perfetto::PacketFile made, perfetto::PacketFile::create(path));
        file.file = std::move(made);
        const auto same = std::ranges::find(from.files, path, [](const auto& kept) { return kept->path; });
        if (same != from.files.end()) forget(from, static_cast<std::size_t>(same - from.files.begin()));
        file.kept = from.files.emplace_back(std::make_shared<Kept>(Kept{path, 0}));
        removeOldParts(sender, name, path);
    }
    BUBBLESCOPE_TRY(file.file->append(bytes));
    for (std::int64_t* const sum : {&file.kept->bytes, &from.bytes, &bytes_})
        *sum += count;
    return {};
}

/// Whether that much may be added, for which finished files are removed where necessary.
bool StreamStore::makeRoom(std::int64_t bytes) {
    while (bytes_ + bytes > quota_) {
        const auto finished = [](const std::shared_ptr<Kept>& kept) { return kept.use_count() == 1; };
        Sender* most = nullptr;
        for (auto& [name, sender] : senders_) {
            if (std::ranges::any_of(sender.files, finished) && (most == nullptr || sender.bytes > most->bytes))
                most = &sender;
        }
        if (most == nullptr) return false;
        const auto oldest = std::ranges::find_if(most->files, finished);
        std::error_code ignored; // someone may have removed it
        std::filesystem::remove((*oldest)->path, ignored);
        removed_ += (*oldest)->bytes;
        forget(*most, static_cast<std::size_t>(oldest - most->files.begin()));
    }
    return true;
}

void StreamStore::forget(Sender& sender, std::size_t file) {
    sender.bytes -= sender.files[file]->bytes;
    bytes_ -= sender.files[file]->bytes;
    sender.files.erase(sender.files.begin() + static_cast<std::ptrdiff_t>(file));
}

std::filesystem::path StreamStore::pathOf(const std::string& sender, const std::string& name) const {
    // A host may record several jobs into several folders, with equal names in them.
    const std::filesystem::path stream(name);
    const std::string folder = asFileName(stream.parent_path().filename().string());
    return dir_ / asFileName(sender) / folder / asFileName(stream.stem().string() + std::string(kTraceExtension));
}

void StreamStore::removeOldParts(const std::string& sender, const std::string& name,
                                 const std::filesystem::path& path) {
    const std::filesystem::path stream(name);
    std::deque<std::filesystem::path>& parts =
        parts_[{sender, (stream.parent_path() / withoutPart(stream.stem().string())).string()}];
    if (std::ranges::find(parts, path) == parts.end()) parts.push_back(path);
    if (parts.size() <= kParts) return;
    std::error_code ignored; // someone may have removed it
    std::filesystem::remove(parts.front(), ignored);
    Sender& from = senders_[sender];
    const auto old = std::ranges::find(from.files, parts.front(), [](const auto& kept) { return kept->path; });
    if (old != from.files.end()) forget(from, static_cast<std::size_t>(old - from.files.begin()));
    parts.pop_front();
}

} // namespace bubblescope::live
