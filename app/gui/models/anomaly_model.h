#pragma once

#include "app/gui/models/session.h"

#include <QAbstractTableModel>

namespace bubblescope::gui {

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
