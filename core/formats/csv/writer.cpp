#include "core/formats/csv/writer.h"

#include "core/base/csv_cell.h"
#include "core/formats/source/replacing_file.h"
#include "core/trace/args.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::csv {
namespace {

std::string nameOr(std::string_view name, std::int64_t number) {
    return name.empty() ? fmt::format("{}", number) : csvCell(name);
}

} // namespace

Status writeSlices(const std::filesystem::path& file, const Trace& trace) {
    ReplacingFile out(file);
    out.write("file,process,thread,category,name,start_ns,duration_ns,depth,args\n");
    for (const Track& track : trace.tracks()) {
        const std::string row = fmt::format("{},{},{}", csvCell(trace.files()[track.file].path.string()),
                                            nameOr(trace.text(track.process_name), track.pid),
                                            nameOr(trace.text(track.thread_name), track.tid));
        std::vector<TimeNs> open; // ends of the slices around the current one, innermost last
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            while (!open.empty() && open.back() <= trace.start(slice))
                open.pop_back();
            const TimeNs duration = trace.end(slice) - trace.start(slice);
            out.write(fmt::format("{},{},{},{},{},{},{}\n", row, csvCell(trace.category(slice)),
                                  csvCell(trace.name(slice)), trace.start(slice).count(), duration.count(), open.size(),
                                  csvCell(trace.argsJson(trace.sliceArgs()[slice]))));
            open.push_back(trace.end(slice));
        }
    }
    return out.commit();
}

} // namespace bubblescope::csv
