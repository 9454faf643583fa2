#pragma once

#include "app/gui/models/column_model.h"
#include "app/gui/models/view_state.h"
#include "core/formats/notes_file.h"

#include <QObject>

#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// Location for the notes of a trace that has no notes yet.
enum class NotePlace : std::uint8_t {
    App,    ///< in the app's data folder, private to the user
    Beside, ///< next to the trace, visible to everyone who opens it
};

/// Notes on the open trace, sorted by time. Each change is immediately written to a file: an existing file next to the
/// trace, an existing file in the app's folder, or a new file at place(). If writing fails, failed() is emitted, and
/// the notes stay in memory until the trace is closed. The files are small, and are read and written on the GUI
/// thread.
class NoteStore : public QObject {
    Q_OBJECT

public:
    /// `state` must outlive the store. When another session is opened, the notes are closed.
    explicit NoteStore(ViewState& state, QObject* parent = nullptr);

    /// Reads the notes of a trace and stores new notes with the trace. failed() reports errors of readNotes().
    void open(const std::filesystem::path& trace);

    [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
    /// Index of the note that was last added or visited; −1 if there is none.
    [[nodiscard]] int current() const { return current_; }

    [[nodiscard]] NotePlace place() const { return place_; }
    /// Sets place() and moves the notes of the open trace there.
    void setPlace(NotePlace place);
    /// Path of the open trace; empty if it does not come from a file.
    [[nodiscard]] const std::filesystem::path& file() const { return file_; }

    /// Adds a note to the measured interval, the selection, or the middle of the view, in this order of preference.
    void addHere();
    void setText(int note, const QString& text);
    void remove(int note);
    /// Restores the note that was last deleted by remove(). Each note can be restored only once.
    void restore();
    [[nodiscard]] bool canRestore() const { return removed_.has_value(); }

    /// Moves the view to a note; the next function moves it `direction` notes further, with wraparound.
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
    bool save();
    [[nodiscard]] std::filesystem::path fileIn(NotePlace place) const;

    ViewState& state_;
    NotePlace place_ = NotePlace::App;
    SessionPtr session_;
    std::filesystem::path trace_;
    std::filesystem::path file_; ///< empty if the session does not come from a file
    std::vector<Note> notes_;
    std::optional<Note> removed_;
    int current_ = -1;
};

/// Table model of a NoteStore; the text of notes is editable.
class NotesModel : public ColumnModel {
    Q_OBJECT

public:
    enum { When, Length, Where, NoteText };

    /// `state` and `note_store` must outlive the model.
    NotesModel(const ViewState& state, NoteStore& note_store, QObject* parent = nullptr);

    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

protected:
    [[nodiscard]] std::size_t rows() const override { return rows_; }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    void update();

    const ViewState& state_;
    NoteStore& note_store_;
    std::size_t rows_ = 0;
};

/// Formats a time in the trace, such as "step 3, 12.4 ms".
[[nodiscard]] QString placeInTime(const Session& session, TimeNs time);

/// Text and position of a note, for tooltips and screen readers.
[[nodiscard]] QString noteSummary(const Session& session, const Note& note);

} // namespace bubblescope::gui
