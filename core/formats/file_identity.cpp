#include "core/formats/file_identity.h"

#include "core/base/text.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;

/// The N of the only file profiler_info_N.json in a folder.
std::optional<std::int32_t> rankOfAscendFolder(const fs::path& folder) {
    constexpr std::string_view kBegin = "profiler_info_";
    std::optional<std::int32_t> rank;
    std::error_code failed;
    std::size_t seen = 0;
    for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed)) {
        constexpr std::size_t kMost = 1000; // a profiler's folder contains a few
        if (++seen > kMost) return std::nullopt;
        const std::string name = entry->path().filename().string();
        if (!name.starts_with(kBegin) || !name.ends_with(".json")) continue;
        const auto number = wholeNumber(std::string_view(name).substr(kBegin.size(), name.size() - kBegin.size() - 5));
        if (!number || rank) return std::nullopt;
        rank = *number;
    }
    return rank;
}

fs::path withoutPacking(const fs::path& path) {
    const fs::path extension = path.extension();
    return extension == ".gz" || extension == ".zst" ? fs::path(path).replace_extension() : path;
}

/// A fingerprint that is equal for equal events: 64-bit FNV-1a over times.
std::uint64_t printOf(const TraceBuilder& builder) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (SliceId slice = 0; slice < builder.sliceCount(); ++slice) {
        for (const TimeNs time : {builder.sliceStart(slice), builder.sliceEnd(slice)})
            hash = (hash ^ static_cast<std::uint64_t>(time.count())) * 0x100000001b3U;
    }
    return hash;
}

} // namespace

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

std::optional<std::int32_t> rankAround(const fs::path& file) {
    if (const auto rank = rankInName(file.filename().string())) return rank;
    constexpr int kFolders = 3; // …_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json
    fs::path folder = file.parent_path();
    for (int i = 0; i < kFolders && folder.has_filename(); ++i, folder = folder.parent_path()) {
        if (const auto rank = rankOfAscendFolder(folder)) return rank;
        const std::string name = folder.filename().string();
        const auto rank = name.starts_with("rank") ? rankInName(name) : std::nullopt;
        if (rank) return rank;
    }
    return std::nullopt;
}

void settleRanks(TraceBuilder& builder, DiagnosticLog& log) {
    std::map<std::int32_t, std::set<std::uint32_t>> stated;
    std::set<std::int32_t> named;
    std::size_t usable = 0;
    for (std::uint32_t i = 0; i < builder.fileCount(); ++i) {
        const TraceFile& file = builder.file(i);
        if (file.format.empty()) continue;
        ++usable;
        if (file.rank) stated[*file.rank].insert(i);
        if (file.named_rank) named.insert(*file.named_rank);
    }
    const auto shared = std::ranges::find_if(stated, [](const auto& each) { return each.second.size() > 1; });
    const bool names_decide = shared != stated.end() && named.size() == usable;
    if (names_decide) {
        log.add("rank-contradiction", builder.file(*shared->second.begin()).path.string(),
                say("several files contain rank {}, but their names have different ranks; using the ranks in the names",
                    shared->first),
                static_cast<std::int64_t>(shared->second.size()));
    }
    for (std::uint32_t i = 0; i < builder.fileCount(); ++i) {
        TraceFile& file = builder.file(i);
        if (file.format.empty() || !file.named_rank) continue;
        if (names_decide || !file.rank) {
            file.rank = file.named_rank;
        } else if (*file.rank != *file.named_rank) {
            log.add("rank-contradiction", file.path.string(),
                    say("the file contains rank {}, but its name has rank {}; using the content", *file.rank,
                        *file.named_rank));
        }
    }
}

std::optional<fs::path> CopyFinder::copyOf(TraceBuilder& builder) {
    if (builder.fileCount() != 1) return std::nullopt;
    const TraceFile& file = builder.file(0);
    const std::string name = withoutPacking(file.path).string();
    const std::size_t slices = builder.sliceCount();
    const auto rank = file.rank ? file.rank : file.named_rank;
    const Content content{slices, printOf(builder), rank, file.named_rank, file.world_size};
    const bool is_comparable = slices > 0 && rank;
    std::optional<std::size_t> first;
    const auto take = [&first](std::size_t index) { first = std::min(first.value_or(index), index); };
    for (auto [at, end] = by_name_.equal_range(name); at != end; ++at) {
        if (slices <= known_[at->second].slices) take(at->second);
    }
    if (const auto equal = by_content_.find(content); is_comparable && equal != by_content_.end()) take(equal->second);
    if (first) return known_[*first].path;
    by_name_.emplace(name, known_.size());
    if (is_comparable) by_content_.emplace(content, known_.size());
    known_.push_back({file.path, slices});
    return std::nullopt;
}

} // namespace bubblescope
