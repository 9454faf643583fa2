#include "core/recognise/extractors.h"

namespace bubblescope {

Result<std::vector<CategoryCounts>> extractCategories(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<std::map<StringId, std::size_t>> counts(raw.fileCount());
    for (const Track& track : trace.tracks()) {
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice)
            ++counts[track.file][trace.sliceCategories()[slice]];
    }
    std::vector<CategoryCounts> files(counts.size());
    for (std::size_t file = 0; file < files.size(); ++file) {
        for (const auto& [category, count] : counts[file])
            files[file][std::string(trace.text(category))] += count;
    }
    return files;
}

} // namespace bubblescope
