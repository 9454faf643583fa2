#pragma once

#include "app/gui/models/view_state.h"
#include "core/formats/notes_file.h"

#include <QAbstractTableModel>
#include <QObject>

#include <filesystem>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// The place for the notes of a trace that has none yet.
enum class NotePlace : std::uint8_t {
    App,    ///< in the app's own folder, not visible to others
    Beside, ///< next to the trace, for everyone who opens it
};

/// The notes on the open trace, in time order. Each change is immediately written to the notes' file: the file next to
/// the trace if it exists, otherwise the one in the app's folder if that exists, otherwise the one that place()
/// selects. If writing fails, failed() is emitted, and the notes stay in memory until the trace is closed. The files
/// are small and are read and written on the GUI thread.
class NoteStore : public QObject {
    Q_OBJECT

public:
    /// `state` must outlive the store. Opening another session closes the trace's notes.
    explicit NoteStore(ViewState& state, QObject* parent = nullptr);

    /// Reads the notes of a trace; new notes are saved with it. Errors: those of readNotes(), reported by failed().
    void open(const std::filesystem::path& trace);

    [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }
    /// The note added or visited last; −1 for none.
    [[nodiscard]] int current() const { return current_; }

    [[nodiscard]] NotePlace place() const { return place_; }
    /// Also moves the notes of the open trace to that place.
    void setPlace(NotePlace place);
    /// Path of the open trace; empty if it does not come from a file.
    [[nodiscard]] const std::filesystem::path& file() const { return file_; }

    /// Adds a note to the measured interval, or to the selection, or to the middle of the view.
    void addHere();
    void setText(int note, const QString& text);
    void remove(int note);
    /// Restores the note that remove() deleted last; works once.
    void restore();
    [[nodiscard]] bool canRestore() const { return removed_.has_value(); }

    /// Moves the view to a note, or `direction` notes further, wrapping around.
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

/// A NoteStore as a table; texts can be edited.
class NotesModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { When, Length, Where, NoteText, ColumnCount };

    /// Both must outlive the model.
    NotesModel(const ViewState& state, NoteStore& note_store, QObject* parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

private:
    void update();

    const ViewState& state_;
    NoteStore& note_store_;
    int rows_ = 0;
};

/// "step 3, 12.4 ms" for a time of the trace.
[[nodiscard]] QString placeInTime(const Session& session, TimeNs time);

/// A note's text and place, for tooltips and screen readers.
[[nodiscard]] QString noteSummary(const Session& session, const Note& note);

} // namespace bubblescope::gui
