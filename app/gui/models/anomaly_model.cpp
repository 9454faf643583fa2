#include "app/gui/models/anomaly_model.h"

#include "app/gui/language/format.h"
#include "app/gui/language/sentence_text.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include <cmath>

namespace bubblescope::gui {

namespace {

struct AnomalyText {
    Q_DECLARE_TR_FUNCTIONS(Anomalies)
};

} // namespace

QString severityText(Severity severity) {
    switch (severity) {
    case Severity::Serious: return AnomalyText::tr("serious");
    case Severity::Warning: return AnomalyText::tr("warning");
    case Severity::Notice: break;
    }
    return AnomalyText::tr("notice");
}

QString anomalyKindText(AnomalyKind kind) {
    // The slugs are core's; with spaces they are words.
    QString name = fromUtf8(std::string(anomalyKindName(kind))).replace(QLatin1Char('-'), QLatin1Char(' '));
    return QCoreApplication::translate("AnomalyKind", qUtf8Printable(name));
}

QString anomalyPlace(const Anomaly& anomaly) {
    QStringList parts;
    if (anomaly.replica) parts << AnomalyText::tr("replica %1").arg(*anomaly.replica);
    if (anomaly.rank && anomaly.peer) {
        parts << AnomalyText::tr("rank %1 → %2").arg(anomaly.rank->value).arg(anomaly.peer->value);
    } else if (anomaly.rank) {
        parts << AnomalyText::tr("rank %1").arg(anomaly.rank->value);
    }
    if (anomaly.op) {
        parts << fromUtf8(opName(*anomaly.op));
    } else if (anomaly.chunk) {
        parts << AnomalyText::tr("chunk %1").arg(anomaly.chunk->value);
    }
    if (anomaly.step) parts << AnomalyText::tr("step %1").arg(*anomaly.step);
    return parts.join(QStringLiteral(" · "));
}

EvidenceText evidenceText(const std::pair<std::string, double>& evidence) {
    QString name = fromUtf8(evidence.first);
    const double value = evidence.second;
    const bool time = name.endsWith(QLatin1String("_ns"));
    if (time) name.chop(3);
    name.replace(QLatin1Char('_'), QLatin1Char(' '));
    name = QCoreApplication::translate("Evidence", qUtf8Printable(name));
    if (time) return {name, exactTime(TimeNs{std::llround(value)})};
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    return {name, whole ? QLocale().toString(static_cast<qlonglong>(value)) : QLocale().toString(value, 'g', 4)};
}

void AnomalyModel::show(SessionPtr session) {
    beginResetModel();
    session_ = std::move(session);
    endResetModel();
}

int AnomalyModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !session_ ? 0 : static_cast<int>(session_->report.anomalies.size());
}

int AnomalyModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant AnomalyModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const Anomaly& anomaly = at(index.row());
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue<int>((index.column() == Cost ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (role == kSortRole) {
        if (index.column() == SeverityColumn) return static_cast<int>(anomaly.severity);
        if (index.column() == Cost) return static_cast<qlonglong>(anomaly.cost.count());
    } else if (role != Qt::DisplayRole && (role != Qt::ToolTipRole || index.column() != Message)) {
        return {};
    }
    switch (index.column()) {
    case SeverityColumn: return severityText(anomaly.severity);
    case KindColumn: return anomalyKindText(anomaly.kind);
    case Where: return anomalyPlace(anomaly);
    case Cost: return anomaly.cost > TimeNs{0} ? shortTime(anomaly.cost) : QString();
    default: return sentence(translated(anomaly.message));
    }
}

QVariant AnomalyModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::ToolTipRole && section == Cost) return tr("By how much a step would be shorter without it");
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case SeverityColumn: return tr("Severity");
    case KindColumn: return tr("Kind");
    case Where: return tr("Where");
    case Cost: return tr("Costs a step");
    case Message: return tr("Finding");
    default: return {};
    }
}

} // namespace bubblescope::gui
