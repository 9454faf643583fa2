#include "app/gui/panels/problems_panel.h"

#include "app/gui/panels/fill_when_seen.h"
#include "app/gui/panels/table_style.h"

#include <QHeaderView>

namespace bubblescope::gui {

ProblemsPanel::ProblemsPanel(ViewState& state, QWidget* parent) : QTableView(parent) {
    setObjectName(QStringLiteral("problemsPanel"));
    setAccessibleName(tr("Problems of the loaded files"));
    auto* problems = new ProblemsModel(this);
    setModel(problems);
    styleTable(*this);
    setAlternatingRowColors(true);
    horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
    horizontalHeader()->setSectionResizeMode(ProblemsModel::Message, QHeaderView::Stretch);
    horizontalHeader()->setSectionResizeMode(ProblemsModel::Count, QHeaderView::ResizeToContents);
    horizontalHeader()->setSectionResizeMode(ProblemsModel::Kind, QHeaderView::ResizeToContents);
    setColumnWidth(ProblemsModel::Where, 280);
    auto* fill = new FillWhenSeen(*this, [problems, &state] { problems->show(state.session()); });
    connect(&state, &ViewState::sessionChanged, fill, &FillWhenSeen::ask);
}

} // namespace bubblescope::gui
