#pragma once

#include "app/gui/models/session.h"
#include "app/gui/models/view_state.h"
#include "core/analysis/anomalies/anomaly.h"

#include <QAbstractTableModel>

#include <optional>

namespace bubblescope::gui {

/// The place of an anomaly on the timeline.
struct AnomalyTarget {
    int step = 0; ///< index in Run::steps: the anomaly's step, or the current one if it has none
    std::optional<int> rank;
    ItemRef item;                      ///< the op or transfer that shows it best; may be empty
    std::optional<TimeRange> range;    ///< time when it occurred, if known
    std::vector<Highlight> highlights; ///< for a slow chunk, all its ops
};

[[nodiscard]] AnomalyTarget targetOf(const Session& session, const Anomaly& anomaly, int current_step);
/// The change that would remove the anomaly's cause, in the syntax of `whatif --if`: "stage:15=usual". Empty if there
/// is none.
[[nodiscard]] QString changeFor(const Session& session, const Anomaly& anomaly);
/// Shows the anomaly in the views.
void goTo(ViewState& state, const Anomaly& anomaly);

/// RunReport::anomalies as a table, in the report's order.
class AnomalyModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { SeverityColumn, KindColumn, Where, Cost, Message, ColumnCount };
    /// Values for sorting: severity, nanoseconds.
    static constexpr int kSortRole = Qt::UserRole;

    explicit AnomalyModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    void show(SessionPtr session);
    [[nodiscard]] const Anomaly& at(int row) const { return session_->report.anomalies[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    SessionPtr session_;
};

[[nodiscard]] QString severityText(Severity severity);
[[nodiscard]] QString anomalyKindText(AnomalyKind kind);
/// "rank 3 · chunk 1 · step 7"; empty if the anomaly concerns the whole run.
[[nodiscard]] QString anomalyPlace(const Anomaly& anomaly);
/// A number of the evidence for display: its name, and its value with unit.
struct EvidenceText {
    QString name;
    QString value;
};
[[nodiscard]] EvidenceText evidenceText(const std::pair<std::string, double>& evidence);

} // namespace bubblescope::gui
