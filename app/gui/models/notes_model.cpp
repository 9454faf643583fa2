#include "app/gui/models/notes_model.h"

#include "app/gui/language/format.h"

namespace bubblescope::gui {

NotesModel::NotesModel(const ViewState& state, Notebook& notebook, QObject* parent)
    : QAbstractTableModel(parent), state_(state), notebook_(notebook),
      rows_(static_cast<int>(notebook.notes().size())) {
    connect(&notebook_, &Notebook::changed, this, &NotesModel::update);
}

/// A change of a text leaves the rows as they are, so that an editor that is open stays.
void NotesModel::update() {
    const int rows = static_cast<int>(notebook_.notes().size());
    if (rows == rows_ && rows > 0) {
        emit dataChanged(index(0, 0), index(rows - 1, ColumnCount - 1));
        return;
    }
    beginResetModel();
    rows_ = rows;
    endResetModel();
}

int NotesModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : rows_;
}

int NotesModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant NotesModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    // Between a change and its signal the rows may be more than the notes.
    if (index.row() >= static_cast<int>(notebook_.notes().size()) || !state_.session()) return {};
    const Note& note = notebook_.notes()[static_cast<std::size_t>(index.row())];
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue<int>((index.column() == Length ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole && role != Qt::EditRole) return {};
    switch (index.column()) {
    case When: return placeInTime(*state_.session(), note.begin);
    case Length: return note.end > note.begin ? shortTime(note.end - note.begin) : QString();
    case Where: return note.rank ? tr("Rank %1").arg(*note.rank) : tr("all ranks");
    default: return fromUtf8(note.text);
    }
}

QVariant NotesModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case When: return tr("Time");
    case Length: return tr("Length");
    case Where: return tr("Where");
    case NoteText: return tr("Note");
    default: return {};
    }
}

Qt::ItemFlags NotesModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    return index.isValid() && index.column() == NoteText ? flags | Qt::ItemIsEditable : flags;
}

bool NotesModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !index.isValid() || index.column() != NoteText) return false;
    notebook_.setText(index.row(), value.toString());
    return true;
}

QString placeInTime(const Session& session, TimeNs time) {
    for (int step = session.stepCount() - 1; step >= 0; --step) {
        const TimeRange window = session.window(step);
        if (time < window.begin && step > 0) continue;
        return NotesModel::tr("step %1, %2").arg(session.step(step).index).arg(exactTime(time - window.begin));
    }
    return exactTime(time);
}

QString noteSummary(const Session& session, const Note& note) {
    const QString where = note.rank ? NotesModel::tr("Rank %1").arg(*note.rank) : NotesModel::tr("all ranks");
    const QString place = QStringLiteral("%1 · %2").arg(placeInTime(session, note.begin), where);
    return note.text.empty() ? place : fromUtf8(note.text) + QLatin1Char('\n') + place;
}

} // namespace bubblescope::gui
