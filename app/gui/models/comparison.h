#pragma once

#include "app/gui/models/view_state.h"
#include "core/analysis/comparison/compare_runs.h"
#include "core/analysis/devices/compare_activity.h"
#include "core/report/document.h"

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <QString>

#include <memory>
#include <optional>

namespace bubblescope::gui {

/// A comparison of the open run ("before") with another run, as made by `bubblescope diff`.
struct Comparison {
    SessionPtr before;
    std::shared_ptr<const Run> after;
    QString after_name;
    RunComparison result;
    int typical_after = 0; ///< index in the other run's steps, see StepSelection
};
using ComparisonPtr = std::shared_ptr<const Comparison>;

/// The part of the other run's paths that differs from those of the open run: "slow" for /runs/base/0.json and
/// /runs/slow/0.json.
[[nodiscard]] QString nameByDifference(const std::vector<std::filesystem::path>& open,
                                       const std::vector<std::filesystem::path>& other);

/// Loads the other run and compares. For worker threads. Errors are those of the loader.
[[nodiscard]] Result<ComparisonPtr> compareWith(SessionPtr before, const RunLoader& loader,
                                                const std::vector<std::filesystem::path>& paths, JobControl& control);

/// The open trace, which has no pipeline, and another one.
struct ActivityComparison {
    SessionPtr before;
    QString after_name;
    std::vector<ActivityChange> changes;
};
using ActivityComparisonPtr = std::shared_ptr<const ActivityComparison>;

/// Loads the other trace and compares the activity of the devices. For worker threads. Errors: those of the loader, and
/// Usage if either trace has a pipeline or shows no device.
[[nodiscard]] Result<ActivityComparisonPtr> compareActivityWith(SessionPtr before, const RunLoader& loader,
                                                                const std::vector<std::filesystem::path>& paths,
                                                                JobControl& control);
[[nodiscard]] report::Table activityTable(const ActivityComparison& comparison);
/// The largest change, in one sentence.
[[nodiscard]] QString activityText(const ActivityComparison& comparison);

/// "Rank 2: F of chunk 0, steady".
[[nodiscard]] QString measureText(const MeasureKey& key);

/// The cause of the changes, in one sentence; empty if no single rank changed as a whole.
[[nodiscard]] QString causeText(const RunComparison& comparison);

/// The places of a measure in a step of the open run: its ops, bubbles or transfers. Empty for the step time.
[[nodiscard]] std::vector<Highlight> placesOf(const Session& session, int step, const MeasureKey& key);

/// The step time, then all changes, sorted by their effect on a step.
class ComparisonModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { What, Before, After, ChangeColumn, PerStep, Chance, ColumnCount };
    /// Values for sorting: nanoseconds, probabilities.
    static constexpr int kSortRole = Qt::UserRole;

    explicit ComparisonModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    void show(ComparisonPtr comparison);
    [[nodiscard]] const Change& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }
    /// See CompareLimits.
    [[nodiscard]] double alpha() const { return alpha_; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] static QVariant sortValue(const Change& change, int column);
    [[nodiscard]] static QString text(const Change& change, int column);

    std::vector<Change> rows_;
    double alpha_ = CompareLimits().alpha;
};

/// Selects the rows of a ComparisonModel to show. The step time is always shown.
struct ChangeFilter {
    enum Kind { All, Ops, Transfers, Idle, Stages };
    Kind kind = All;
    /// Each word must occur in the row's text; "rank=2", "stage=", "chunk=", "replica=" and "mb=" select numbers, and
    /// F, B, I, W the kind of op.
    QString words;
    bool beyond_chance = false; ///< show only statistically significant changes

    [[nodiscard]] bool accepts(const Change& change, double alpha) const;
};

/// A ComparisonModel, sorted and filtered.
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
