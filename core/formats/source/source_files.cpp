#include "core/formats/source/source_files.h"

namespace bubblescope {

std::map<std::int64_t, SourceFile> sourceFilesOf(const Trace& trace, const RowNumbers& rows) {
    std::map<std::int64_t, SourceFile> sources;
    if (trace.files().size() == 1 && !trace.files().front().rank) return sources;
    for (TrackId id = 0; id < trace.tracks().size(); ++id) {
        const std::uint32_t file = trace.tracks()[id].file;
        sources.try_emplace(rows.of(id).pid, SourceFile{file, trace.files()[file].rank});
    }
    return sources;
}

std::map<std::int64_t, std::uint32_t> addSourceFiles(const std::map<std::int64_t, SourceFile>& sources, TimeNs offset,
                                                     TraceBuilder& builder) {
    std::map<std::int64_t, SourceFile> in_order; // by number
    for (const auto& [pid, source] : sources)
        in_order.emplace(source.number, source);
    std::map<std::int64_t, std::uint32_t> files; // by number
    const std::uint32_t whole = builder.currentFile();
    for (const auto& [number, source] : in_order) {
        std::uint32_t file = whole;
        if (!files.empty()) {
            TraceFile added = builder.file(whole);
            file = builder.addFile(std::move(added));
            builder.setFileOffset(file, offset);
        }
        builder.file(file).rank = source.rank;
        files.emplace(number, file);
    }
    std::map<std::int64_t, std::uint32_t> of_process;
    for (const auto& [pid, source] : sources)
        of_process.emplace(pid, files.at(source.number));
    return of_process;
}

} // namespace bubblescope
