#include "core/query/trace_table.h"

namespace bubblescope::query {

const std::vector<Spec>& processColumns() {
    static const std::vector<Spec> kColumns{text("process", fact(OfTrack::Process), Find::Ranges),
                                            ranged("rank", fact(OfTrack::Rank)),
                                            hidden(text("process_name", fact(OfTrack::Process), Find::Ranges)),
                                            hidden(ranged("pid", fact(OfTrack::Pid))),
                                            hidden(ranged("file", fact(OfTrack::File))),
                                            hidden(ranged("pipeline_rank", fact(OfTrack::PipelineRank))),
                                            hidden(ranged("replica", fact(OfTrack::Replica)))};
    return kColumns;
}

const std::vector<Spec>& threadColumns() {
    static const std::vector<Spec> kColumns{
        text("thread", fact(OfTrack::Thread), Find::Ranges), text("device", fact(OfTrack::Device), Find::Ranges),
        ranged("stream", fact(OfTrack::Stream)), hidden(text("thread_name", fact(OfTrack::Thread), Find::Ranges)),
        hidden(ranged("tid", fact(OfTrack::Tid)))};
    return kColumns;
}

std::vector<Spec> joined(std::initializer_list<std::vector<Spec>> parts) {
    std::vector<Spec> all;
    for (const std::vector<Spec>& part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

std::vector<Column> sqlColumns(const std::vector<Spec>& specs) {
    std::vector<Column> columns;
    for (const Spec& spec : specs)
        columns.push_back({spec.name, spec.affinity, spec.find, spec.hidden});
    return columns;
}

Cell textOrNull(std::string_view text) {
    return text.empty() ? Cell() : Cell(text);
}
Cell argsCell(const Trace& trace, ArgSetId set) {
    std::string json = set == 0 ? std::string() : trace.argsJson(set);
    return json.empty() ? Cell() : Cell(std::move(json));
}

} // namespace bubblescope::query
