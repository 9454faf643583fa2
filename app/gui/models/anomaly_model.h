#pragma once

#include "app/gui/models/column_model.h"
#include "app/gui/models/session.h"
#include "app/gui/models/view_state.h"
#include "core/analysis/anomalies/anomaly.h"

#include <optional>

namespace bubblescope::gui {

/// Position of an anomaly on the timeline.
struct AnomalyTarget {
    int step = 0; ///< index in Run::steps of the anomaly's step, or of the current step if the anomaly has none
    std::optional<int> rank;
    ItemRef item;                      ///< op or transfer that best shows the anomaly; may be empty
    std::optional<TimeRange> range;    ///< time of the anomaly, if known
    std::vector<Highlight> highlights; ///< for a slow chunk, all its ops
};

[[nodiscard]] AnomalyTarget targetOf(const Session& session, const Anomaly& anomaly, int current_step);
/// Hypothetical change that would remove the cause of the anomaly, in the syntax of `whatif --if`, such as
/// "stage:15=usual". Empty if there is none.
[[nodiscard]] QString changeFor(const Session& session, const Anomaly& anomaly);
/// Shows the anomaly in the views.
void goTo(ViewState& state, const Anomaly& anomaly);

/// Table of RunReport::anomalies, in the order of the report.
class AnomalyModel : public ColumnModel {
    Q_OBJECT

public:
    enum { SeverityColumn, KindColumn, Where, Cost, Message };

    using ColumnModel::ColumnModel;

    void show(SessionPtr session);
    [[nodiscard]] const Anomaly& at(int row) const { return session_->report.anomalies[static_cast<std::size_t>(row)]; }

protected:
    [[nodiscard]] std::size_t rows() const override { return session_ ? session_->report.anomalies.size() : 0; }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    SessionPtr session_;
};

[[nodiscard]] QString severityText(Severity severity);
[[nodiscard]] QString anomalyKindText(AnomalyKind kind);
/// Location such as "rank 3 · chunk 1 · step 7"; empty if the anomaly affects the complete run.
[[nodiscard]] QString anomalyPlace(const Anomaly& anomaly);
/// A value in the evidence, formatted for display: its name, and the value with a unit.
struct EvidenceText {
    QString name;
    QString value;
};
[[nodiscard]] EvidenceText evidenceText(const std::pair<std::string, double>& evidence);

} // namespace bubblescope::gui
