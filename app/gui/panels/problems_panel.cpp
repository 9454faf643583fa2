#include "app/gui/panels/problems_panel.h"

#include "app/gui/models/report_table_model.h"
#include "app/gui/panels/widgets.h"
#include "core/report/results/document_parts.h"

#include <QHeaderView>

namespace bubblescope::gui {
namespace {

// The visible columns of report::problemsTable().
constexpr int kCount = 0;
constexpr int kMessage = 1;
constexpr int kWhere = 2;
constexpr int kKind = 3;

report::Table problemsOf(const SessionPtr& session) {
    return report::problemsTable(session ? session->run.problems : std::vector<Diagnostic>(), report::Reader::People);
}

} // namespace

ProblemsPanel::ProblemsPanel(ViewState& state, QWidget* parent) : QTableView(parent) {
    setObjectName(QStringLiteral("problemsPanel"));
    setAccessibleName(tr("Problems in the loaded files"));
    auto* problems = new ReportTableModel(this);
    problems->show(problemsOf(nullptr));
    setModel(problems);
    styleTable(*this);
    setAlternatingRowColors(true);
    horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
    horizontalHeader()->setSectionResizeMode(kMessage, QHeaderView::Stretch);
    horizontalHeader()->setSectionResizeMode(kCount, QHeaderView::ResizeToContents);
    horizontalHeader()->setSectionResizeMode(kKind, QHeaderView::ResizeToContents);
    setColumnWidth(kWhere, 280);
    auto* fill = new FillWhenVisible(*this, [problems, &state] { problems->show(problemsOf(state.session())); });
    connect(&state, &ViewState::sessionChanged, fill, &FillWhenVisible::markStale);
}

} // namespace bubblescope::gui
