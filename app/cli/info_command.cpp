#include "app/cli/command.h"
#include "app/cli/load_options.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "core/analysis/devices/device_summary.h"
#include "core/base/visible.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/file_extract.h"
#include "core/recognise/gpu_work.h"
#include "core/report/results/document_parts.h"
#include "core/trace/summary.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::cli {
namespace {

struct InfoArguments {
    std::vector<std::string> files;
    RecogniseRequest recognise;
    bool json = false;
};

/// The position of a file's rank in the job's mesh, if it is known.
std::optional<MeshNumbers> placeOf(const TraceFile& file, const std::optional<RankPlaces>& places) {
    if (!places || !file.rank) return std::nullopt;
    const auto place = places->ranks.find(*file.rank);
    return place == places->ranks.end() ? std::nullopt : std::optional(place->second);
}

/// The problems of one file: those whose place is its path or begins with it.
std::vector<Diagnostic> problemsOf(const TraceFile& file, const std::vector<Diagnostic>& all) {
    const std::string name = file.path == kStandardInput ? "standard input" : file.path.string();
    std::vector<Diagnostic> own;
    for (const Diagnostic& problem : all) {
        if (const std::string& where = problem.where.text(); where == name || where.starts_with(name + ", "))
            own.push_back(problem);
    }
    return own;
}

/// Kernels of a file that are recognised as transfers between ranks, which users can correct with a rule.
report::Table transfersTable(const Trace& trace, std::uint32_t file) {
    using report::Align;
    report::Table table("communication",
                        {report::column("kernel", "communication", Align::Left),
                         report::column("library", "library", Align::Left), report::column("call", "call", Align::Left),
                         report::column("slices", "slices"), report::column("total_ns", "total")});
    table.reader = report::Reader::Programs;
    DeviceSlices devices(trace);
    if (!devices.any()) return table;
    std::map<std::string_view, std::pair<std::int64_t, TimeNs>> kernels;
    for (const Track& track : trace.tracks()) {
        if (track.file != file) continue;
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            if (!devices.contains(slice) || devices.kind(slice) < WorkKind::Collective) continue;
            auto& [count, total] = kernels[withoutCallNumber(trace.name(slice))];
            ++count;
            total += trace.end(slice) - trace.start(slice);
        }
    }
    for (const auto& [name, sums] : kernels) {
        const auto known = communicationKernel(name);
        table.row(shortKernelName(name), known && !known->library.empty() ? known->library : "(by name)",
                  known ? known->call : "", sums.first, sums.second);
    }
    if (!table.rows.empty()) table.reader = report::Reader::Everyone;
    return table;
}

/// Content of one file: an object in "files", and a paragraph in text output.
report::Section fileSection(const FileSummary& summary, std::uint32_t file, const ReadTraces& read,
                            const std::optional<RankPlaces>& places) {
    using report::Align;
    using report::Value;
    const std::optional<MeshNumbers> place = placeOf(summary.file, places);
    const bool usable = !summary.file.format.empty();
    const report::Reader details = usable ? report::Reader::Everyone : report::Reader::Programs;
    report::Section section;
    section.line(
        visible(summary.file.path.string() + (summary.file.process.empty() ? "" : ", " + summary.file.process)));
    section.data("path", summary.file.path.string());
    if (!summary.file.process.empty()) section.data("process", summary.file.process);
    section.data("format", usable ? Value(summary.file.format) : Value());
    section.data("ranks", summary.file.rank ? Value::List{*summary.file.rank} : Value::List{});
    if (place) section.data("place", report::placeOf(*place));
    section.data("slices", summary.slices);
    section.data("open_slices", summary.open_slices);
    const FileExtract* const extract = summary.file.extract.get();
    if (extract != nullptr) section.data("slices_before", extract->slices); // the content of the raw trace
    if (usable) {
        section.line(fmt::format("  {}{}{}: {} slices{}, {} flows, {} instants, {} counters", summary.file.format,
                                 extract != nullptr ? fmt::format(" extract ({} slices before)", extract->slices) : "",
                                 summary.file.rank ? fmt::format(", rank {}", *summary.file.rank) : "", summary.slices,
                                 summary.open_slices > 0 ? fmt::format(" ({} never ended)", summary.open_slices) : "",
                                 summary.flows, summary.instants, summary.counters));
        if (place) section.line(fmt::format("  place: {} (by {})", report::placeText(*place), places->source));
    } else {
        section.line("  could not be used; see the problems");
    }
    Value::Object by_category;
    report::Table categories({}, {report::shown("category", Align::Left), report::shown("slices")});
    for (const auto& [category, count] : summary.by_category) {
        by_category.push_back({category, count});
        categories.row(category.empty() ? "(none)" : category, count);
    }
    section.data("by_category", std::move(by_category));
    if (usable && !categories.rows.empty()) section.add(std::move(categories));
    report::Table tracks("tracks",
                         {report::column("process", "process", Align::Left),
                          report::column("thread", "thread", Align::Left), report::column("lane", "lane", Align::Left),
                          report::column("slices", "slices"), report::column("busy_ns", "busy"),
                          report::column("first_ns", "first"), report::column("last_ns", "last")});
    for (const TrackSummary& track : summary.tracks)
        tracks.row(track.process, track.thread, laneKindName(track.lane), track.slices, track.busy, track.first,
                   track.last);
    tracks.reader = tracks.rows.empty() ? report::Reader::Programs : details;
    section.add(std::move(tracks));
    section.add(transfersTable(*read.trace, file));
    section.data("flows", summary.flows);
    section.data("flow_points", summary.flow_points);
    section.data("instants", summary.instants);
    section.data("counters", summary.counters);
    section.add(report::problemsTable(problemsOf(summary.file, read.problems), report::Reader::Programs));
    return section;
}

CommandResult info(const InfoArguments& options) {
    JobControl control;
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, options.recognise.options());
    BUBBLESCOPE_ASSIGN(
        const ReadTraces read, watchLoad(control, [&] {
            return readTraces({options.files.begin(), options.files.end()}, control, {0, known_of.reading});
        }));
    const std::vector<FileSummary> files = summarize(*read.trace);
    BUBBLESCOPE_ASSIGN(const std::optional<RankPlaces> places, rankPlaces(read.trace->files(), {}, known_of.mesh));
    printProblems(read.problems);
    report::Document document;
    document.data("origin_ns", read.trace->origin());
    document.data("span_ns", read.trace->span());
    report::Sections sections;
    sections.key = "files";
    for (std::uint32_t i = 0; i < files.size(); ++i) {
        sections.list.push_back(fileSection(files[i], i, read, places));
        std::get<report::Line>(sections.list.back().blocks.front()).apart = i != 0;
    }
    document.add(std::move(sections));
    document.add(report::problemsTable(read.problems, report::Reader::Programs));
    document.line(fmt::format("\n{} from the first event to the last", formatTime(read.trace->span())));
    print(document, options.json);
    return 0;
}

} // namespace

void addInfoCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("info", "List the contents of trace files: format, ranks, slices, busy time, problems");
    command.examples({"info trace.json.gz", "info my-run --json"});
    const auto options = std::make_shared<InfoArguments>();
    command.addOption("FILES", options->files, "Trace files or folders; - is standard input").required();
    addNameOptions(command, options->recognise);
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] { action = [options] { return info(*options); }; });
}

} // namespace bubblescope::cli
