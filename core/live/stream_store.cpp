#include "core/live/stream_store.h"

#include "core/base/bytes.h"
#include "core/base/field.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

namespace bubblescope::live {
namespace {

constexpr std::size_t kMaxBefore = std::size_t{1} << 20;     ///< bytes within which a stream must report its kind
constexpr std::size_t kMaxBeginnings = std::size_t{1} << 26; ///< over all streams
constexpr std::string_view kTraceExtension = ".pftrace";

/// Senders choose the file name, but not the folder.
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
        dot != std::string::npos && dot + 1 < stem.size() && std::ranges::all_of(stem.substr(dot + 1), isDigit);
    return numbered ? stem.substr(0, dot) : stem;
}

} // namespace

Status StreamStore::feed(File& file, const std::string& sender, const std::string& name, std::string_view bytes,
                         std::optional<bool> captured) {
    if (file.unwanted) return {};
    if (!captured && file.beginning.size() + bytes.size() <= kMaxBefore) {
        if (beginnings_ + bytes.size() > kMaxBeginnings) {
            giveUp(file, fmt::format("{}: {} does not identify itself, and there are too many streams of this kind",
                                     sender, name));
            return {};
        }
        file.beginning += bytes;
        beginnings_ += bytes.size();
        return {};
    }
    if (!captured.value_or(false)) {
        giveUp(file, {});
        return {};
    }
    if (!file.beginning.empty()) {
        BUBBLESCOPE_TRY(noted(append(file, sender, name, file.beginning)));
        beginnings_ -= file.beginning.size();
        std::string().swap(file.beginning); // an assignment would not free its memory
    }
    return noted(append(file, sender, name, bytes));
}

Status StreamStore::noted(Status kept) {
    if (!kept.ok()) problem_ = kept.error().text();
    return kept;
}

void StreamStore::end(File& file) {
    beginnings_ -= file.beginning.size();
    std::string().swap(file.beginning);
    file = {};
}

void StreamStore::giveUp(File& file, std::string problem) {
    end(file);
    file.unwanted = true;
    if (!problem.empty()) problem_ = std::move(problem);
}

Status StreamStore::append(File& file, const std::string& sender, const std::string& name, std::string_view bytes) {
    const auto count = static_cast<std::int64_t>(bytes.size());
    if (!makeRoom(count, !file.file)) {
        return runError(
            fmt::format("{}: {} is no longer stored: the traces occupy {}, and all of them are still being written",
                        sender, name, formatBytes(bytes_)),
            fmt::format("raise {}", Field("keep_size")));
    }
    if (!file.file) {
        const std::filesystem::path path = pathOf(sender, name);
        std::error_code ignored; // perfetto::PacketFile reports the error
        std::filesystem::create_directories(path.parent_path(), ignored);
        BUBBLESCOPE_ASSIGN(perfetto::PacketFile made, perfetto::PacketFile::create(path));
        file.file = std::move(made);
        if (const auto from = senders_.find(sender); from != senders_.end()) {
            const auto& files = from->second.files;
            const auto same = std::ranges::find(files, path, [](const auto& kept) { return kept->path; });
            if (same != files.end()) forget(sender, static_cast<std::size_t>(same - files.begin()));
        }
        const std::filesystem::path stream(name);
        const Process process{sender, (stream.parent_path() / withoutPart(stream.stem().string())).string()};
        file.kept = senders_[sender].files.emplace_back(std::make_shared<Kept>(Kept{path, 0, process}));
        ++files_;
        removeOldParts(process, path);
    }
    BUBBLESCOPE_TRY(file.file->append(bytes));
    for (std::int64_t* const sum : {&file.kept->bytes, &senders_[sender].bytes, &bytes_})
        *sum += count;
    return {};
}

/// Returns true if this number of bytes can be added; removes finished files if necessary.
bool StreamStore::makeRoom(std::int64_t bytes, bool for_a_file) {
    while (bytes_ + bytes > quota_ || (for_a_file && files_ >= kMaxFiles)) {
        const auto finished = [](const std::shared_ptr<Kept>& kept) { return kept.use_count() == 1; };
        auto most = senders_.end();
        for (auto sender = senders_.begin(); sender != senders_.end(); ++sender) {
            if (!std::ranges::any_of(sender->second.files, finished)) continue;
            if (most == senders_.end() || sender->second.bytes > most->second.bytes) most = sender;
        }
        if (most == senders_.end()) return false;
        const auto& files = most->second.files;
        const auto oldest = std::ranges::find_if(files, finished);
        std::error_code ignored; // another program may have removed it
        std::filesystem::remove((*oldest)->path, ignored);
        removed_ += (*oldest)->bytes;
        forget(std::string(most->first), static_cast<std::size_t>(oldest - files.begin()));
    }
    return true;
}

/// Forgets the name of a process or a sender with its last file, because senders choose names freely.
void StreamStore::forget(const std::string& name, std::size_t file) {
    const auto sender = senders_.find(name);
    const std::shared_ptr<Kept> kept = sender->second.files[file];
    sender->second.bytes -= kept->bytes;
    bytes_ -= kept->bytes;
    --files_;
    sender->second.files.erase(sender->second.files.begin() + static_cast<std::ptrdiff_t>(file));
    if (sender->second.files.empty()) senders_.erase(sender);
    if (const auto parts = parts_.find(kept->process); parts != parts_.end()) {
        std::erase(parts->second, kept->path);
        if (parts->second.empty()) parts_.erase(parts);
    }
}

std::filesystem::path StreamStore::pathOf(const std::string& sender, const std::string& name) const {
    // A host may record several jobs into several folders, with equal names in them.
    const std::filesystem::path stream(name);
    const std::string folder = asFileName(stream.parent_path().filename().string());
    return dir_ / asFileName(sender) / folder / asFileName(stream.stem().string() + std::string(kTraceExtension));
}

void StreamStore::removeOldParts(const Process& process, const std::filesystem::path& path) {
    std::deque<std::filesystem::path>& parts = parts_[process];
    if (std::ranges::find(parts, path) == parts.end()) parts.push_back(path);
    if (parts.size() <= kParts) return;
    const std::filesystem::path oldest = parts.front();
    parts.pop_front();
    std::error_code ignored; // another program may have removed it
    std::filesystem::remove(oldest, ignored);
    const auto& files = senders_[process.first].files;
    const auto old = std::ranges::find(files, oldest, [](const auto& kept) { return kept->path; });
    if (old != files.end()) forget(process.first, static_cast<std::size_t>(old - files.begin()));
}

} // namespace bubblescope::live
