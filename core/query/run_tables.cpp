#include "core/query/tables.h"

#include "core/analysis/devices/device_summary.h"
#include "core/recognise/raw_trace.h"
#include "core/report/results/devices.h"
#include "core/report/results/tables.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace bubblescope::query {
namespace {

using report::ColumnType;
using report::DataColumn;
using report::DataTable;

Cell cellAt(const DataColumn& column, std::size_t row) {
    if (column.null(row)) return {};
    switch (column.type()) {
    case ColumnType::Int32: return std::int64_t{column.int32s()[row]};
    case ColumnType::Int64: return column.int64s()[row];
    case ColumnType::Float64: return column.float64s()[row];
    case ColumnType::Bool: return std::int64_t{column.bits().at(row)};
    case ColumnType::Text: return column.texts().text(static_cast<std::size_t>(column.int32s()[row]));
    }
    return {};
}

const DataColumn* columnOf(const DataTable& table, std::string_view name) {
    const auto found = std::ranges::find(table.columns(), name, &DataColumn::name);
    return found == table.columns().end() ? nullptr : &*found;
}

/// A table in the form that SQL reads: "id", "ts" and "dur" first, replacing "start_ns" or "first_ns" and its end or
/// length.
DataTable forSql(const DataTable& table) {
    const auto either = [&](std::string_view first, std::string_view second) {
        const DataColumn* const found = columnOf(table, first);
        return found != nullptr ? found : columnOf(table, second);
    };
    const DataColumn* const start = either("start_ns", "first_ns");
    const DataColumn* const end = either("end_ns", "last_ns");
    const DataColumn* const wall = columnOf(table, "wall_ns");
    std::vector<DataColumn> columns;
    columns.emplace_back("id", ColumnType::Int64);
    for (std::size_t row = 0; row < table.rows(); ++row)
        columns.front().add(static_cast<std::int64_t>(row));
    if (start != nullptr) {
        DataColumn ts("ts", ColumnType::Int64);
        DataColumn dur("dur", ColumnType::Int64);
        for (std::size_t row = 0; row < table.rows(); ++row) {
            ts.add(start->int64s()[row]);
            dur.add(wall != nullptr ? wall->int64s()[row] : end->int64s()[row] - start->int64s()[row]);
        }
        columns.push_back(std::move(ts));
        columns.push_back(std::move(dur));
    }
    for (const DataColumn& column : table.columns()) {
        if (&column != start && &column != end && &column != wall) columns.push_back(column);
    }
    return DataTable(std::move(columns));
}

/// The columns of both tables with the rows of `filled`, which is one of them.
DataTable withColumnsOf(const DataTable& first, const DataTable& second, const DataTable& filled) {
    std::vector<DataColumn> columns;
    for (const DataTable* const table : {&first, &second}) {
        for (const DataColumn& column : table->columns()) {
            if (std::ranges::find(columns, column.name(), &DataColumn::name) != columns.end()) continue;
            const DataColumn* const values = columnOf(filled, column.name());
            DataColumn& out =
                columns.emplace_back(values != nullptr ? *values : DataColumn(column.name(), column.type()));
            while (out.size() < filled.rows())
                out.addNull();
        }
    }
    return DataTable(std::move(columns));
}

std::vector<Column> columnsOf(const DataTable& table) {
    std::vector<Column> columns;
    for (const DataColumn& column : table.columns()) {
        const bool is_text = column.type() == ColumnType::Text;
        const bool is_real = column.type() == ColumnType::Float64;
        const Affinity affinity = is_text ? Affinity::Text : is_real ? Affinity::Real : Affinity::Integer;
        columns.push_back({column.name(), affinity, is_real ? Find::Never : Find::Scan, false});
    }
    return columns;
}

/// A table of results, computed when it is first read.
class MadeTable final : public Relation {
public:
    using Make = std::function<Result<DataTable>(const JobControl& control)>;
    /// `empty` has the columns of the table that `make` returns.
    MadeTable(std::string name, const DataTable& empty, Make make)
        : Relation(std::move(name), columnsOf(empty)), make_(std::move(make)) {}

    [[nodiscard]] Status prepare(const JobControl& control) override {
        if (table_) return {};
        BUBBLESCOPE_ASSIGN(table_, make_(control));
        return {};
    }
    [[nodiscard]] std::size_t rows() const override {
        constexpr std::size_t kGuess = 1000;
        return table_ ? table_->rows() : kGuess;
    }
    [[nodiscard]] Cell cell(std::size_t row, int column) const override {
        return cellAt(table_->columns()[static_cast<std::size_t>(column)], row);
    }

private:
    Make make_;
    std::optional<DataTable> table_;
};

// ---- Tables of analyze ----

/// Adds the name of each row's op, such as "F3.1".
DataTable withOpNames(const DataTable& ops) {
    const DataColumn& kind = *columnOf(ops, "kind");
    const DataColumn& microbatch = *columnOf(ops, "microbatch");
    const DataColumn& chunk = *columnOf(ops, "chunk");
    const DataColumn& sequence = *columnOf(ops, "sequence");
    DataColumn name("name", ColumnType::Text);
    for (std::size_t row = 0; row < ops.rows(); ++row) {
        const auto letter = kind.texts().text(static_cast<std::size_t>(kind.int32s()[row])).front();
        const Op op(opKindFromLetter(letter).value_or(OpKind::Forward), Microbatch{microbatch.int32s()[row]},
                    Chunk{chunk.int32s()[row]}, sequence.int32s()[row]);
        name.add(std::string_view(opName(op)));
    }
    std::vector<DataColumn> columns{std::move(name)};
    columns.insert(columns.end(), ops.columns().begin(), ops.columns().end());
    return DataTable(std::move(columns));
}

DataTable analysisTable(std::string_view name, const Run& run, const RunReport& report) {
    const std::vector<report::AnalysisTable> tables = report::analysisTables(run, report);
    const DataTable table = std::ranges::find(tables, name, &report::AnalysisTable::name)->make();
    return name == "ops" ? withOpNames(table) : table;
}

/// The columns, without rows.
DataTable emptyAnalysisTable(std::string_view name) {
    static const Run kNoRun;
    static const RunReport kNoReport;
    return analysisTable(name, kNoRun, kNoReport);
}

DataTable activityTable(std::string_view name, const std::vector<FileActivity>& files) {
    const std::vector<report::AnalysisTable> tables = report::activityTables(files);
    return std::ranges::find(tables, name, &report::AnalysisTable::name)->make();
}

std::unique_ptr<Relation> analysisRelation(const char* name, const char* of, const Subject& subject) {
    const auto make = [subject, of](const JobControl& /*control*/) -> Result<DataTable> {
        return forSql(subject.report == nullptr ? emptyAnalysisTable(of)
                                                : analysisTable(of, subject.run, *subject.report));
    };
    return std::make_unique<MadeTable>(name, forSql(emptyAnalysisTable(of)), make);
}

// ---- Work of devices ----

/// Device work, computed once for all tables that show it.
class Activity {
public:
    explicit Activity(const Subject& subject) : subject_(subject) {}

    [[nodiscard]] Result<const std::vector<FileActivity>*> files(const JobControl& control) {
        if (!files_ && subject_.run.trace != nullptr) {
            RawTrace raw(subject_.run.trace, &control, subject_.gpu);
            BUBBLESCOPE_ASSIGN(files_, extract(raw, kActivity));
        }
        if (!files_) files_.emplace();
        return &*files_;
    }

private:
    Subject subject_;
    std::optional<std::vector<FileActivity>> files_;
};

std::unique_ptr<Relation> deviceRelation(std::shared_ptr<Activity> activity) {
    const auto make = [activity](const JobControl& control) -> Result<DataTable> {
        BUBBLESCOPE_ASSIGN(const std::vector<FileActivity>* const files, activity->files(control));
        return forSql(activityTable("devices", *files));
    };
    return std::make_unique<MadeTable>("device", forSql(activityTable("devices", {})), make);
}

/// Steps of a pipeline, or else the steps that profilers and frameworks mark, rank by rank.
std::unique_ptr<Relation> stepRelation(const Subject& subject, std::shared_ptr<Activity> activity) {
    const DataTable of_pipelines = emptyAnalysisTable("steps");
    const DataTable of_devices = activityTable("device-steps", {});
    const auto make = [=](const JobControl& control) -> Result<DataTable> {
        if (subject.report != nullptr) {
            const DataTable steps = analysisTable("steps", subject.run, *subject.report);
            return forSql(withColumnsOf(of_pipelines, of_devices, steps));
        }
        BUBBLESCOPE_ASSIGN(const std::vector<FileActivity>* const files, activity->files(control));
        return forSql(withColumnsOf(of_pipelines, of_devices, activityTable("device-steps", *files)));
    };
    return std::make_unique<MadeTable>("step", forSql(withColumnsOf(of_pipelines, of_devices, of_devices)), make);
}

// ---- Files ----

DataTable fileTable(const Run& run) {
    DataTable out({{"path", ColumnType::Text},
                   {"process", ColumnType::Text},
                   {"format", ColumnType::Text},
                   {"rank", ColumnType::Int32},
                   {"host", ColumnType::Text},
                   {"slices", ColumnType::Int64},
                   {"origin_ns", ColumnType::Int64}});
    const auto textOrNull = [](const std::string& text) {
        return text.empty() ? std::nullopt : std::optional<std::string>(text);
    };
    std::vector<std::int64_t> slices(run.inputs().size());
    for (std::size_t i = 0; run.trace != nullptr && i < run.trace->tracks().size(); ++i) {
        const Track& track = run.trace->tracks()[i];
        slices[track.file] += track.end_slice - track.first_slice;
    }
    for (std::size_t i = 0; i < run.inputs().size(); ++i) {
        const TraceFile& file = run.inputs()[i];
        out.row(file.path.string(), textOrNull(file.process), textOrNull(file.format), file.rank, textOrNull(file.host),
                slices[i], run.trace == nullptr ? TimeNs{0} : run.trace->origin() - file.offset);
    }
    return out;
}

DataTable problemTable(const Run& run) {
    DataTable out({{"kind", ColumnType::Text},
                   {"count", ColumnType::Int64},
                   {"place", ColumnType::Text},
                   {"message", ColumnType::Text}});
    for (const Diagnostic& problem : run.problems)
        out.row(problem.kind, problem.count, problem.where, problem.message);
    return out;
}

std::unique_ptr<Relation> inputRelation(const char* name, DataTable (*make)(const Run&), const Run& run) {
    const auto for_sql = [make, &run](const JobControl& /*control*/) -> Result<DataTable> { return forSql(make(run)); };
    static const Run kNoRun;
    return std::make_unique<MadeTable>(name, forSql(make(kNoRun)), for_sql);
}

} // namespace

std::vector<std::unique_ptr<Relation>> runTables(const Subject& subject) {
    const auto activity = std::make_shared<Activity>(subject);
    std::vector<std::unique_ptr<Relation>> tables;
    tables.push_back(stepRelation(subject, activity));
    tables.push_back(analysisRelation("op", "ops", subject));
    tables.push_back(analysisRelation("transfer", "transfers", subject));
    tables.push_back(analysisRelation("bubble", "bubbles", subject));
    tables.push_back(analysisRelation("accounting", "accounting", subject));
    tables.push_back(analysisRelation("finding", "findings", subject));
    tables.push_back(deviceRelation(activity));
    tables.push_back(inputRelation("file", &fileTable, subject.run));
    tables.push_back(inputRelation("problem", &problemTable, subject.run));
    return tables;
}

} // namespace bubblescope::query
