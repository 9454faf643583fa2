#include "app/gui/panels/problems_panel.h"

#include "app/gui/language/format.h"
#include "app/gui/language/sentence_text.h"
#include "app/gui/panels/tables.h"
#include "app/gui/panels/widgets.h"

#include <QHeaderView>

namespace bubblescope::gui {

void ProblemsModel::show(SessionPtr session) {
    beginResetModel();
    session_ = std::move(session);
    endResetModel();
}

int ProblemsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !session_ ? 0 : static_cast<int>(session_->run.problems.size());
}

int ProblemsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant ProblemsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const Diagnostic& problem = session_->run.problems[static_cast<std::size_t>(index.row())];
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue<int>((index.column() == Count ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
    switch (index.column()) {
    case Count: return QVariant::fromValue<qlonglong>(problem.count);
    case Message: return translated(problem.message);
    case Where: return translated(problem.where);
    default: return fromUtf8(problem.kind);
    }
}

QVariant ProblemsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case Count: return tr("Times");
    case Message: return tr("Problem");
    case Where: return tr("First seen");
    case Kind: return tr("Kind");
    default: return {};
    }
}

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
