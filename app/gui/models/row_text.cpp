#include "app/gui/models/row_text.h"

#include <QCoreApplication>

namespace bubblescope::gui {

namespace {

struct RowText {
    Q_DECLARE_TR_FUNCTIONS(RowText)
};

} // namespace

QString lineName(const Session& session, int line) {
    const int rank = session.lanes.rankOf(line);
    return session.lanes.replicas().size() > 1
               ? RowText::tr("Rank %1 dp %2").arg(rank).arg(session.lanes.replicaOf(line))
               : RowText::tr("Rank %1").arg(rank);
}

QString groupName(const PlannedRow& header, MeshAxis axis) {
    const std::string_view name = kMeshAxisNames[static_cast<std::size_t>(axis)];
    return RowText::tr("%1 %2 (rows: %3)")
        .arg(QLatin1String(name.data(), static_cast<qsizetype>(name.size())))
        .arg(header.group)
        .arg(header.lines);
}

} // namespace bubblescope::gui
