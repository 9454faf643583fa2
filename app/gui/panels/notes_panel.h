#pragma once

#include "app/gui/models/notes.h"

#include <QWidget>

class QLabel;
class QPushButton;
class QTableView;

namespace bubblescope::gui {

/// List of notes for editing and navigation.
class NotesPanel : public QWidget {
    Q_OBJECT

public:
    /// `state` and `note_store` must outlive the panel.
    NotesPanel(ViewState& state, NoteStore& note_store, QWidget* parent = nullptr);

    /// Opens the editor for the text of a note.
    void edit(int note);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void refresh();
    void choose(int note);
    [[nodiscard]] int chosen() const;

    ViewState& state_;
    NoteStore& note_store_;
    NotesModel* model_;
    QTableView* table_;
    QLabel* hint_;
    QPushButton* add_;
    QPushButton* remove_;
    QPushButton* restore_;
};

} // namespace bubblescope::gui
