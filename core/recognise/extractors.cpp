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

void fields(WireWriter& wire, const FoundOpPieces& value) {
    wire(std::uint64_t{value.lists().size()});
    for (const FoundOpList& list : value.lists()) {
        wire(std::uint64_t{list.size()});
        for (const BareFoundOp& op : list)
            wire(FoundOp{op, list.detailsOf(op)});
    }
}

void fields(WireReader& wire, FoundOpPieces& value) {
    std::uint64_t lists = 0;
    wire(lists);
    for (std::uint64_t i = 0; i < lists && !wire.failed(); ++i) {
        std::vector<FoundOp> ops;
        wire(ops);
        value.append(FoundOpList(ops));
    }
}

void fields(WireWriter& wire, const Pieces<FoundComm>& value) {
    wire(std::vector<std::vector<FoundComm>>(value.lists().begin(), value.lists().end()));
}

void fields(WireReader& wire, Pieces<FoundComm>& value) {
    std::vector<std::vector<FoundComm>> lists;
    wire(lists);
    for (std::vector<FoundComm>& list : lists)
        value.append(std::move(list));
}

} // namespace bubblescope
