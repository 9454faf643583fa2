#pragma once

#include "app/gui/models/view_state.h"
#include "core/formats/notes_file.h"

#include <QObject>

#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// The notes of the trace that is open, by time. Each change is written at once to the file beside the trace; where
/// that fails, failed() says why and the notes stay until the trace is closed. Files are small, so reading and writing
/// does not leave the GUI thread.
class Notebook : public QObject {
    Q_OBJECT

public:
    /// `state` must outlive the notebook. Another session closes it.
    explicit Notebook(ViewState& state, QObject* parent = nullptr);

    /// Reads the notes of a trace, to which further ones belong; fails as readNotes() does.
    void open(const std::filesystem::path& trace);

    [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
    /// The one that was last added or gone to; −1 for none.
    [[nodiscard]] int current() const { return current_; }

    /// Makes a note of the stretch that is measured, else of what is selected, else of the middle of the view.
    void addHere();
    void setText(int note, const QString& text);
    void remove(int note);
    /// Puts back what remove() took last, once.
    void restore();
    [[nodiscard]] bool canRestore() const { return removed_.has_value(); }

    /// Moves the view to a note, or to the one `direction` further, around the ends.
    void goTo(int note);
    void goToNext(int direction);

signals:
    void changed();
    void added(int note);
    void currentChanged(int note);
    void failed(const bubblescope::Error& error);

private:
    void close();
    int insert(Note note);
    void save();

    ViewState& state_;
    SessionPtr session_;
    std::filesystem::path file_; ///< empty: of nothing that lies in a file
    std::vector<Note> notes_;
    std::optional<Note> removed_;
    int current_ = -1;
};

} // namespace bubblescope::gui
