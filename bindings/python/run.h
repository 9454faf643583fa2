#pragma once

#include "core/analysis/devices/device_summary.h"
#include "core/analysis/report.h"
#include "core/report/document.h"
#include "core/report/results/tables.h"
#include "core/request/run_model_request.h"

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <vector>

namespace bubblescope::python {

/// A run, loaded and diagnosed, or a trace without a pipeline.
class RunHandle {
public:
    /// Loads the files in the same way as `analyze`.
    RunHandle(const std::vector<std::string>& files, const pybind11::dict& options, const pybind11::object& progress);

    /// If there is no pipeline, raises an exception that contains the reason.
    [[nodiscard]] const DiagnosedRun& diagnosed() const;
    [[nodiscard]] const Run& run() const { return diagnosed_ ? diagnosed_->run : loaded_->run; }

    /// Report in the JSON format of `analyze --json`.
    [[nodiscard]] std::string json() const;
    [[nodiscard]] std::string text() const;
    [[nodiscard]] pybind11::tuple summary() const; ///< as JSON and text
    [[nodiscard]] std::string html() const;        ///< as one page
    /// A table by name, such as "steps" or "ops"; for a trace without a pipeline, a table of device activity.
    [[nodiscard]] report::DataTable table(const std::string& name) const;
    [[nodiscard]] report::DataTable slices(const std::optional<std::string>& category) const;
    /// Result rows of a SELECT; see core/query/database.h.
    [[nodiscard]] report::DataTable query(const std::string& sql) const;
    /// Index of a step in the run's timelines; the typical step if `step` is empty.
    [[nodiscard]] std::size_t timeline(std::optional<int> step, int replica) const;
    [[nodiscard]] std::string svg(std::size_t timeline) const;

    [[nodiscard]] pybind11::tuple whatIf(const std::vector<std::string>& changes, const pybind11::dict& options) const;
    [[nodiscard]] pybind11::tuple advise(const pybind11::dict& options) const;

private:
    [[nodiscard]] report::Document document(report::Reader reader) const;

    RunModelRequest request_; ///< the files and their load options
    std::optional<DiagnosedRun> diagnosed_;
    std::unique_ptr<LoadedTrace> loaded_; ///< for a trace without a pipeline
    std::vector<FileActivity> activity_;  ///< for a trace without a pipeline
};

/// Converts a document to a pair: JSON, and the text that the command line prints.
[[nodiscard]] pybind11::tuple answerOf(const report::Section& document);

void addRunClass(pybind11::module_& module);

} // namespace bubblescope::python
