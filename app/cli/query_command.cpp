#include "app/cli/command.h"
#include "app/cli/load_options.h"
#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/base/open_input.h"
#include "core/formats/source/file_bytes.h"
#include "core/query/database.h"
#include "core/report/arrow_stream.h"
#include "core/report/data_table.h"
#include "core/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::cli {
namespace {

struct QueryArguments {
    std::vector<std::string> words; ///< files, then the query
    std::string query_file;
    std::optional<TimeNs> time_limit;
    RecogniseRequest recognise;
    bool tables = false;
    bool csv = false;
    bool json = false;
    bool arrow = false;
};

/// The tables that can be queried.
report::Document tablesDocument() {
    static const Run kNothing;
    const query::Database database({kNothing, nullptr, nullptr});
    report::Document document;
    report::Table list("tables", {report::column("table", "table", report::Align::Left),
                                  report::column("columns", "columns", report::Align::Left)});
    list.indent = 0;
    for (const auto& table : database.tables()) {
        std::string columns;
        for (const query::Column& column : table->columns()) {
            if (!column.hidden) columns += fmt::format("{}{}", columns.empty() ? "" : ", ", column.name);
        }
        list.row(table->name(), columns);
    }
    document.add(std::move(list));
    return document;
}

struct Request {
    std::vector<std::filesystem::path> files;
    std::string sql;
};

Result<Request> requestOf(const QueryArguments& options) {
    std::vector<std::string> words = options.words;
    Request request;
    if (!options.query_file.empty()) {
        BUBBLESCOPE_ASSIGN(request.sql, readInputText(options.query_file, "a query"));
    } else {
        if (words.size() < 2)
            return usageError("trace files and a query are required", "as in: query trace.json \"SELECT 1\"");
        request.sql = std::move(words.back());
        words.pop_back();
        if (request.sql == kStandardInput) {
            BUBBLESCOPE_ASSIGN(request.sql, readInputText(request.sql, "a query"));
        }
    }
    if (words.empty()) return usageError("which trace?", "put the trace files before the query");
    request.files.assign(words.begin(), words.end());
    return request;
}

/// The parts of a trace that a query needs.
struct Loaded {
    LoadedTrace trace;
    std::optional<DiagnosedRun> diagnosed;

    [[nodiscard]] query::Subject subject() const {
        if (diagnosed) return {diagnosed->run, &diagnosed->report, trace.gpu};
        return {trace.run, nullptr, trace.gpu};
    }
};

/// Skips the analysis unless a queried table depends on it. The analysis also aligns clocks, which may be needed for
/// several files.
Result<Loaded> load(const Request& request, const LoadOptions& known_of, const std::set<std::string>& tables) {
    JobControl control;
    Loaded out;
    BUBBLESCOPE_ASSIGN(out.trace, watchLoad(control, [&] { return loadTrace(request.files, control, known_of); }));
    const bool analyse = out.trace.run.files.size() > 1 || std::ranges::any_of(tables, query::needsAnalysis);
    if (out.trace.no_pipeline || !analyse) return out;
    BUBBLESCOPE_ASSIGN(out.diagnosed, diagnoseRun(std::move(out.trace.run)));
    return out;
}

// ---- Text ----

/// Truncates kernel names, which can be hundreds of characters long. CSV and JSON contain the complete names.
std::string cellText(std::string_view text) {
    constexpr std::size_t kMost = 80;
    std::string line(text);
    std::ranges::replace_if(
        line, [](char letter) { return letter == '\n' || letter == '\r' || letter == '\t'; }, ' ');
    return report::shortened(line, kMost);
}

std::string words(const report::DataColumn& column, std::size_t row) {
    if (column.null(row)) return "NULL";
    switch (column.type()) {
    case report::ColumnType::Int64: return fmt::format("{}", column.int64s()[row]);
    case report::ColumnType::Float64: {
        const double value = column.float64s()[row];
        constexpr double kLarge = 10'000;
        return value < kLarge && value > -kLarge ? fmt::format("{:.6g}", value) : fmt::format("{:.1f}", value);
    }
    case report::ColumnType::Text: return cellText(column.texts().text(static_cast<std::size_t>(column.int32s()[row])));
    default: return {};
    }
}

report::Document textOf(const report::DataTable& rows) {
    std::vector<report::Column> columns;
    for (const report::DataColumn& column : rows.columns()) {
        const bool is_text = column.type() == report::ColumnType::Text;
        columns.push_back(
            report::column(column.name(), column.name().c_str(), is_text ? report::Align::Left : report::Align::Right));
    }
    report::Table table("rows", std::move(columns));
    table.indent = 0;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
        std::vector<report::Cell>& cells = table.rows.emplace_back();
        for (const report::DataColumn& column : rows.columns())
            cells.emplace_back(words(column, row));
    }
    report::Document document;
    document.add(std::move(table));
    document.line(fmt::format("{} {}", rows.rows(), rows.rows() == 1 ? "row" : "rows"));
    return document;
}

void show(const report::DataTable& rows, const QueryArguments& options) {
    const auto write = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); };
    if (options.csv) return report::writeCsv(rows, write);
    if (options.json) return report::writeJsonRows(rows, write);
    if (options.arrow) return report::writeArrowStream(rows, write);
    print(textOf(rows), false);
}

CommandResult runQuery(const QueryArguments& options) {
    if (options.tables) {
        print(tablesDocument(), options.json);
        return 0;
    }
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, options.recognise.options());
    BUBBLESCOPE_ASSIGN(const Request request, requestOf(options));
    BUBBLESCOPE_ASSIGN(const std::set<std::string> tables, query::tablesRead(request.sql));
    BUBBLESCOPE_ASSIGN(const Loaded loaded, load(request, known_of, tables));
    printProblems(loaded.subject().run.problems);
    query::Database database(loaded.subject());
    query::QueryLimits limits;
    limits.time = options.time_limit;
    const JobControl control;
    BUBBLESCOPE_ASSIGN(const report::DataTable rows,
                       watchTime("Asking", [&] { return database.run(request.sql, control, limits); }));
    show(rows, options);
    return 0;
}

} // namespace

void addQueryCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("query", "Query a trace in SQL: slices, arrows, counters, steps, ops, bubbles, findings");
    const auto options = std::make_shared<QueryArguments>();
    command.examples({"query trace.json.gz \"SELECT name, sum(dur) FROM slice GROUP BY 1 ORDER BY 2 DESC\"",
                      "query my-run --json \"SELECT rank, sum(dur) AS idle FROM bubble GROUP BY rank\""});
    command.addOption("FILES", options->words,
                      "Trace files or folders (- is standard input), then the query (- is standard input)");
    command.addOption("--file", options->query_file, "Read the query from this file").typeName("FILE");
    command.addFlag("--tables", options->tables, "List the tables and their columns");
    command
        .addParsed("--time-limit", options->time_limit, parseTime,
                   "Time limit for the query; if it takes longer, exit with 4 (default: no limit)")
        .typeName("TIME");
    command.optionGroup("Output");
    const Option json = command.addFlag("--json", options->json, "Print a JSON list of objects");
    const Option csv = command.addFlag("--csv", options->csv, "Print CSV").excludes(json);
    command.addFlag("--arrow", options->arrow, "Write an Apache Arrow stream (binary)").excludes(json).excludes(csv);
    addRecogniseOptions(command, options->recognise);
    command.onParsed([&action, options] { action = [options] { return runQuery(*options); }; });
}

} // namespace bubblescope::cli
