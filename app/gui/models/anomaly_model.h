#pragma once

#include "app/gui/models/session.h"
#include "app/gui/models/view_state.h"
#include "core/analysis/anomalies/anomaly.h"

#include <QAbstractTableModel>

#include <optional>

namespace bubblescope::gui {

/// Where on the timeline to look for an anomaly.
struct AnomalyTarget {
    int step = 0; ///< place in Run::steps: the anomaly's own, or else the one that is current
    std::optional<int> rank;
    ItemRef item;                      ///< the op or transfer that shows it best; may be none
    std::optional<TimeRange> range;    ///< when it happened, where that is known
    std::vector<Highlight> highlights; ///< all ops of a slow chunk
};

[[nodiscard]] AnomalyTarget targetOf(const Session& session, const Anomaly& anomaly, int current_step);
/// What the anomaly's cause would be otherwise, in the words of `whatif --if`: "stage:15=usual". Empty where there is
/// nothing to change.
[[nodiscard]] QString changeFor(const Session& session, const Anomaly& anomaly);
/// Moves the views there.
void goTo(ViewState& state, const Anomaly& anomaly);

/// RunReport::anomalies as a table, in the report's order.
class AnomalyModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { SeverityColumn, KindColumn, Where, Cost, Message, ColumnCount };
    /// Raw values for sorting: a rank of severity, nanoseconds.
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
/// "rank 3 · chunk 1 · step 7"; empty where it concerns the whole run.
[[nodiscard]] QString anomalyPlace(const Anomaly& anomaly);
/// A name of the evidence and its value for people: times in their unit.
struct EvidenceText {
    QString name;
    QString value;
};
[[nodiscard]] EvidenceText evidenceText(const std::pair<std::string, double>& evidence);

} // namespace bubblescope::gui
