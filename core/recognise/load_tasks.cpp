#include "core/recognise/load_tasks.h"

namespace bubblescope {

Result<std::vector<CategoryCounts>> extractCategories(TracePartition& partition) {
    const Trace& trace = partition.trace();
    std::vector<std::map<StringId, std::size_t>> counts(partition.fileCount());
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

PartitionTasks loadTasks() {
    PartitionTasks tasks;
    tasks.add(kNativeMarks, kRuleFinds, kProfilerMarks, kComputeBlocks, kCategories, kNativeChecks, kStepValues);
    return tasks;
}

} // namespace bubblescope
