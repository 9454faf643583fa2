#pragma once

#include "app/gui/models/column_model.h"
#include "app/gui/models/view_state.h"
#include "core/analysis/comparison/compare_runs.h"
#include "core/analysis/devices/compare_activity.h"
#include "core/report/document.h"

#include <QSortFilterProxyModel>
#include <QString>

#include <memory>
#include <optional>

namespace bubblescope::gui {

/// Comparison of the open run ("before") with another run, as in `bubblescope diff`.
struct Comparison {
    SessionPtr before;
    std::shared_ptr<const Run> after;
    QString after_name;
    RunComparison result;
    int typical_after = 0; ///< index of the typical step in the other run; see StepSelection
};
using ComparisonPtr = std::shared_ptr<const Comparison>;

/// Part of the other run's paths that differs from the paths of the open run, such as "slow" for /runs/base/0.json and
/// /runs/slow/0.json.
[[nodiscard]] QString nameByDifference(const std::vector<std::filesystem::path>& open,
                                       const std::vector<std::filesystem::path>& other);

/// Loads the other run and compares it with `before`. For worker threads. Errors: those of the loader.
[[nodiscard]] Result<ComparisonPtr> compareWith(SessionPtr before, const RunLoader& loader,
                                                const std::vector<std::filesystem::path>& paths, JobControl& control);

/// Comparison of the open trace with another trace if neither has a pipeline.
struct ActivityComparison {
    SessionPtr before;
    QString after_name;
    std::vector<ActivityChange> changes;
};
using ActivityComparisonPtr = std::shared_ptr<const ActivityComparison>;

/// Loads the other trace and compares their device activity. For worker threads. Errors: those of the loader, and Usage
/// if one of the traces has a pipeline or no device activity.
[[nodiscard]] Result<ActivityComparisonPtr> compareActivityWith(SessionPtr before, const RunLoader& loader,
                                                                const std::vector<std::filesystem::path>& paths,
                                                                JobControl& control);
[[nodiscard]] report::Table activityTable(const ActivityComparison& comparison);
/// Describes the largest change in one sentence.
[[nodiscard]] QString activityText(const ActivityComparison& comparison);

/// Name of a measure, such as "Rank 2: F of chunk 0, steady".
[[nodiscard]] QString measureText(const MeasureKey& key);

/// Describes the cause of the changes in one sentence; empty unless all ops of one rank changed.
[[nodiscard]] QString causeText(const RunComparison& comparison);

/// Ops, bubbles or transfers that a measure covers in a step of the open run. Empty for the step time.
[[nodiscard]] std::vector<Highlight> placesOf(const Session& session, int step, const MeasureKey& key);

/// Table with the step time in the first row, followed by all changes, sorted by their effect on a step.
class ComparisonModel : public ColumnModel {
    Q_OBJECT

public:
    enum { What, Before, After, ChangeColumn, PerStep, Chance };

    using ColumnModel::ColumnModel;

    void show(ComparisonPtr comparison);
    [[nodiscard]] const Change& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }
    /// Significance level; see CompareLimits.
    [[nodiscard]] double alpha() const { return alpha_; }

protected:
    [[nodiscard]] std::size_t rows() const override { return rows_.size(); }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    [[nodiscard]] static QVariant sortValue(const Change& change, int column);
    [[nodiscard]] static QString text(const Change& change, int column);

    std::vector<Change> rows_;
    double alpha_ = CompareLimits().alpha;
};

/// Selects the visible rows of a ComparisonModel. The step time is always shown.
struct ChangeFilter {
    enum Kind { All, Ops, Transfers, Idle, Stages };
    Kind kind = All;
    /// Each word must occur in the text of the row. "rank=2", "stage=", "chunk=", "replica=" and "mb=" select by
    /// number; F, B, I and W select by kind of op.
    QString words;
    bool beyond_chance = false; ///< true to show only statistically significant changes

    [[nodiscard]] bool accepts(const Change& change, double alpha) const;
};

/// Sorts and filters a ComparisonModel.
class SortedChanges : public QSortFilterProxyModel {
    Q_OBJECT

public:
    explicit SortedChanges(ComparisonModel& changes, QObject* parent = nullptr);

    void show(const ChangeFilter& filter);

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    ComparisonModel& changes_;
    ChangeFilter filter_;
};

} // namespace bubblescope::gui
