#include "app/cli/command.h"
#include "app/cli/load_options.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "app/cli/table.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/file_bytes.h"
#include "core/trace/summary.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {
namespace {

struct InfoArguments {
    std::vector<std::string> files;
    RecogniseOptions recognise;
    bool json = false;
};

/// Of a file's rank in the job's mesh, where it is known.
std::optional<MeshNumbers> placeOf(const TraceFile& file, const std::optional<RankPlaces>& places) {
    if (!places || !file.rank) return std::nullopt;
    const auto place = places->ranks.find(*file.rank);
    return place == places->ranks.end() ? std::nullopt : std::optional(place->second);
}

/// The problems of one file are those whose place is its path, or begins with it and goes on.
std::vector<Diagnostic> problemsOf(const TraceFile& file, const std::vector<Diagnostic>& all) {
    const std::string name = file.path == kStandardInput ? "standard input" : file.path.string();
    std::vector<Diagnostic> own;
    for (const Diagnostic& problem : all) {
        if (const std::string& where = problem.where.text(); where == name || where.starts_with(name + ", "))
            own.push_back(problem);
    }
    return own;
}

Json fileJson(const FileSummary& summary, const ReadTraces& read, const std::optional<RankPlaces>& places) {
    Json out;
    out["path"] = summary.file.path.string();
    out["format"] = summary.file.format.empty() ? Json(nullptr) : Json(summary.file.format);
    out["ranks"] = Json::array();
    if (summary.file.rank) out["ranks"].push_back(*summary.file.rank);
    if (const auto place = placeOf(summary.file, places)) out["place"] = placeJson(*place);
    out["slices"] = summary.slices;
    out["by_category"] = Json::object();
    for (const auto& [category, count] : summary.by_category)
        out["by_category"][category] = count;
    out["tracks"] = Json::array();
    for (const TrackSummary& track : summary.tracks) {
        out["tracks"].push_back({{"process", track.process},
                                 {"thread", track.thread},
                                 {"slices", track.slices},
                                 {"busy_ns", track.busy.count()},
                                 {"first_ns", track.first.count()},
                                 {"last_ns", track.last.count()}});
    }
    out["flows"] = summary.flows;
    out["flow_points"] = summary.flow_points;
    out["instants"] = summary.instants;
    out["counters"] = summary.counters;
    out["problems"] = problemsJson(problemsOf(summary.file, read.problems));
    return out;
}

std::string fileText(const FileSummary& summary, const std::optional<RankPlaces>& places) {
    std::string out = fmt::format("{}\n", summary.file.path.string());
    if (summary.file.format.empty()) return out + "  could not be used, see the problems\n";
    out += fmt::format("  {}{}: {} slices, {} flows, {} instants, {} counters\n", summary.file.format,
                       summary.file.rank ? fmt::format(", rank {}", *summary.file.rank) : "", summary.slices,
                       summary.flows, summary.instants, summary.counters);
    if (const auto place = placeOf(summary.file, places))
        out += fmt::format("  place: {} (by {})\n", placeText(*place), places->source);
    using Align = Table::Align;
    Table categories({{"category", Align::Left}, {"slices", Align::Right}});
    for (const auto& [category, count] : summary.by_category)
        categories.row({category.empty() ? "(none)" : category, std::to_string(count)});
    if (!categories.empty()) out += categories.text();
    Table tracks({{"process", Align::Left}, {"thread", Align::Left}, {"slices"}, {"busy"}, {"first"}, {"last"}});
    for (const TrackSummary& track : summary.tracks) {
        tracks.row({track.process, track.thread, std::to_string(track.slices), formatTime(track.busy),
                    formatTime(track.first), formatTime(track.last)});
    }
    if (!tracks.empty()) out += tracks.text();
    return out;
}

CommandResult info(const InfoArguments& options) {
    JobControl control;
    BUBBLESCOPE_ASSIGN(const ReadTraces read, watchLoad(control, [&] {
                           return readTraces({options.files.begin(), options.files.end()}, control);
                       }));
    const std::vector<FileSummary> files = summarize(*read.trace);
    BUBBLESCOPE_ASSIGN(const std::optional<Mesh> mesh, options.recognise.mesh());
    BUBBLESCOPE_ASSIGN(const std::optional<RankPlaces> places, rankPlaces(read.trace->files(), mesh));
    printProblems(read.problems);
    if (options.json) {
        Json document;
        document["origin_ns"] = read.trace->origin().count();
        document["span_ns"] = read.trace->span().count();
        document["files"] = Json::array();
        for (const FileSummary& file : files)
            document["files"].push_back(fileJson(file, read, places));
        document["problems"] = problemsJson(read.problems);
        printJson(document);
        return 0;
    }
    std::string text;
    for (const FileSummary& file : files)
        text += (text.empty() ? "" : "\n") + fileText(file, places);
    text += fmt::format("\n{} from the first event to the last\n", formatTime(read.trace->span()));
    printText(text);
    return 0;
}

} // namespace

void addInfoCommand(Command app, Action& action) {
    const Command command = app.addCommand(
        "info", "What trace files hold: format, rank, slices by category, busy time per thread and stream, problems");
    const auto options = std::make_shared<InfoArguments>();
    command.addOption("FILES", options->files, "Trace files or directories; - is standard input").required();
    options->recognise.addMesh(command);
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return info(*options); }; });
}

} // namespace bubblescope::cli
