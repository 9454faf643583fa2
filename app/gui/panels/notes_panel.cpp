#include "app/gui/panels/notes_panel.h"

#include "app/gui/panels/widgets.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

namespace bubblescope::gui {

NotesPanel::NotesPanel(ViewState& state, NoteStore& note_store, QWidget* parent)
    : QWidget(parent), state_(state), note_store_(note_store), model_(new NotesModel(state, note_store, this)),
      table_(new QTableView(this)), hint_(new QLabel(this)), add_(new QPushButton(tr("N&ote here"), this)),
      remove_(new QPushButton(tr("&Delete note"), this)), restore_(new QPushButton(tr("&Undo deletion"), this)) {
    setObjectName(QStringLiteral("notesPanel"));
    named(table_, "notesTable", tr("Notes"));
    table_->setModel(model_);
    styleTable(*table_);
    table_->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::SelectedClicked);
    table_->setAlternatingRowColors(true);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setSectionResizeMode(NotesModel::NoteText, QHeaderView::Stretch);
    table_->installEventFilter(this);
    add_->setObjectName(QStringLiteral("notesAdd"));
    add_->setToolTip(
        tr("At the measured range if there is one, otherwise at the selection or in the middle of the view"));
    remove_->setObjectName(QStringLiteral("notesRemove"));
    restore_->setObjectName(QStringLiteral("notesRestore"));
    hint_->setText(tr("No notes yet. Press M in the timeline to add one to the selection or the measured range. Notes "
                      "are stored in the app, or next to the trace if you prefer."));
    hint_->setWordWrap(true);
    hint_->setAlignment(Qt::AlignCenter);
    auto* buttons = spaced(new QHBoxLayout, {6, 4, 6, 4}, 6);
    addAll(*buttons, {add_, remove_, restore_});
    buttons->addStretch(1);
    QVBoxLayout* column = tightColumn(*this);
    column->addWidget(table_, 1);
    column->addWidget(hint_, 1);
    column->addLayout(buttons);

    connect(add_, &QPushButton::clicked, &note_store_, &NoteStore::addHere);
    connect(remove_, &QPushButton::clicked, this, [this] { note_store_.remove(chosen()); });
    connect(restore_, &QPushButton::clicked, &note_store_, &NoteStore::restore);
    connect(table_, &QTableView::doubleClicked, this,
            [this](const QModelIndex& index) { note_store_.goTo(index.row()); });
    connect(&note_store_, &NoteStore::changed, this, &NotesPanel::refresh);
    connect(&note_store_, &NoteStore::currentChanged, this, &NotesPanel::choose);
    connect(&state_, &ViewState::sessionChanged, this, &NotesPanel::refresh);
    refresh();
}

void NotesPanel::refresh() {
    const bool any = !note_store_.notes().empty();
    table_->setVisible(any);
    hint_->setVisible(!any);
    add_->setEnabled(state_.session() != nullptr);
    remove_->setEnabled(any);
    restore_->setEnabled(note_store_.canRestore());
    if (any && chosen() < 0) choose(std::max(0, note_store_.current()));
}

int NotesPanel::chosen() const {
    return table_->currentIndex().isValid() ? table_->currentIndex().row() : -1;
}

void NotesPanel::choose(int note) {
    table_->setCurrentIndex(model_->index(note, NotesModel::NoteText));
}

void NotesPanel::edit(int note) {
    choose(note);
    table_->setFocus();
    table_->edit(model_->index(note, NotesModel::NoteText));
}

bool NotesPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == table_ && event->type() == QEvent::KeyPress && chosen() >= 0) {
        switch (static_cast<QKeyEvent*>(event)->key()) {
        case Qt::Key_Return:
        case Qt::Key_Enter: note_store_.goTo(chosen()); return true;
        case Qt::Key_Delete: note_store_.remove(chosen()); return true;
        default: break;
        }
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace bubblescope::gui
