#include "app/gui/models/notes.h"

#include "app/gui/language/text.h"

#include <QCryptographicHash>
#include <QStandardPaths>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

NoteStore::NoteStore(ViewState& state, QObject* parent) : QObject(parent), state_(state) {
    connect(&state_, &ViewState::sessionChanged, this, [this] {
        // The signal is also emitted when views are rebuilt for the same session.
        if (state_.session() != session_) close();
    });
}

void NoteStore::close() {
    session_ = state_.session();
    trace_.clear();
    file_.clear();
    notes_.clear();
    removed_.reset();
    current_ = -1;
    emit changed();
}

void NoteStore::open(const std::filesystem::path& trace) {
    close();
    trace_ = trace;
    file_ = fileIn(place_);
    std::error_code unreadable;
    for (const NotePlace place : {NotePlace::App, NotePlace::Beside}) {
        if (std::filesystem::exists(fileIn(place), unreadable)) file_ = fileIn(place);
    }
    auto read = readNotes(file_);
    if (!read.ok()) {
        emit failed(read.error());
        return;
    }
    for (Note& note : read.value())
        insert(std::move(note));
    if (!notes_.empty()) emit changed();
}

std::filesystem::path NoteStore::fileIn(NotePlace place) const {
    if (place == NotePlace::Beside) return notesFileOf(trace_);
    // Traces with the same name in different folders have different notes.
    std::error_code failed;
    const std::filesystem::path whole = std::filesystem::absolute(trace_, failed).lexically_normal();
    const QByteArray name = QByteArray::fromStdString(whole.string());
    const QString digest = QString::fromLatin1(QCryptographicHash::hash(name, QCryptographicHash::Sha1).toHex());
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
    const std::filesystem::path notes = std::filesystem::path(folder.toStdString()) / "notes";
    return notesFileOf(notes / digest.toStdString());
}

void NoteStore::setPlace(NotePlace place) {
    place_ = place;
    if (file_.empty() || file_ == fileIn(place)) return;
    const std::filesystem::path before = std::exchange(file_, fileIn(place));
    if (notes_.empty() || !save()) return;
    const Status removed = writeNotes(before, {});
    if (!removed.ok()) emit failed(removed.error());
}

int NoteStore::insert(Note note) {
    const auto place = std::upper_bound(notes_.begin(), notes_.end(), note, [](const Note& a, const Note& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    const auto index = static_cast<int>(place - notes_.begin());
    notes_.insert(place, std::move(note));
    return index;
}

void NoteStore::addHere() {
    if (!state_.session()) return;
    const TimeRange visible = state_.range().range();
    const TimeNs middle = visible.begin + visible.length() / 2;
    Note note{middle, middle, std::nullopt, {}};
    if (state_.measured().length() > TimeNs{0}) {
        note.begin = state_.measured().begin;
        note.end = state_.measured().end;
    } else if (const ItemRef& item = state_.selection()) {
        const TimeRange range = state_.session()->range(item);
        note = {range.begin, range.end, item.rank, {}};
    }
    current_ = insert(std::move(note));
    save();
    emit changed();
    emit added(current_);
}

void NoteStore::setText(int note, const QString& text) {
    if (note < 0 || note >= static_cast<int>(notes_.size())) return;
    std::string& now = notes_[static_cast<std::size_t>(note)].text;
    if (now == text.toStdString()) return;
    now = text.toStdString();
    save();
    emit changed();
}

void NoteStore::remove(int note) {
    if (note < 0 || note >= static_cast<int>(notes_.size())) return;
    removed_ = notes_[static_cast<std::size_t>(note)];
    notes_.erase(notes_.begin() + note);
    current_ = std::min(current_, static_cast<int>(notes_.size()) - 1);
    save();
    emit changed();
}

void NoteStore::restore() {
    if (!removed_) return;
    current_ = insert(*std::move(removed_));
    removed_.reset();
    save();
    emit changed();
    emit currentChanged(current_);
}

void NoteStore::goTo(int note) {
    if (note < 0 || note >= static_cast<int>(notes_.size())) return;
    current_ = note;
    const Note& at = notes_[static_cast<std::size_t>(note)];
    const TimeRange range{at.begin, at.end};
    const TimeNs length = state_.range().range().length();
    if (range.length() > length) {
        state_.zoomTo(range);
    } else {
        const TimeNs begin = at.begin + range.length() / 2 - length / 2;
        state_.range().show({begin, begin + length});
    }
    if (at.rank && state_.session() && *at.rank < static_cast<int>(state_.session()->lanes.rankCount()))
        emit state_.rankRequested(*at.rank);
    emit currentChanged(note);
}

void NoteStore::goToNext(int direction) {
    const int count = static_cast<int>(notes_.size());
    if (count == 0) return;
    const int from = current_ < 0 && direction < 0 ? 0 : current_;
    goTo((from + direction + count) % count);
}

bool NoteStore::save() {
    if (file_.empty()) return true;
    if (file_ != notesFileOf(trace_)) {
        std::error_code failed; // if this fails, writing the file reports the error
        std::filesystem::create_directories(file_.parent_path(), failed);
    }
    const Status written = writeNotes(file_, notes_);
    if (!written.ok()) emit failed(written.error());
    return written.ok();
}

namespace {

QString whereOf(const Session& session, const Note& note) {
    if (!note.rank) return session.hasSteps() ? tr("all ranks") : tr("all lanes");
    const bool known = *note.rank >= 0 && *note.rank < static_cast<int>(session.trace_lines.size());
    return known ? lineName(session, *note.rank) : tr("Rank %1").arg(*note.rank);
}

} // namespace

NotesModel::NotesModel(const ViewState& state, NoteStore& note_store, QObject* parent)
    : ColumnModel(parent), state_(state), note_store_(note_store), rows_(note_store.notes().size()) {
    connect(&note_store_, &NoteStore::changed, this, &NotesModel::update);
}

/// If only texts have changed, keeps the rows, so that an open editor stays open.
void NotesModel::update() {
    const std::size_t rows = note_store_.notes().size();
    if (rows == rows_ && rows > 0) return touchRows();
    beginResetModel();
    rows_ = rows;
    endResetModel();
}

std::vector<ColumnModel::Column> NotesModel::columns() const {
    return {{tr("Time")}, {tr("Length"), true}, {tr("Where")}, {tr("Note")}};
}

QVariant NotesModel::cell(std::size_t row, int column, int role) const {
    // Between a change and its signal there may be more rows than notes.
    if (row >= note_store_.notes().size() || !state_.session()) return {};
    const Note& note = note_store_.notes()[row];
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole && role != Qt::EditRole) return {};
    switch (column) {
    case When: return placeInTime(*state_.session(), note.begin);
    case Length: return note.end > note.begin ? shortTime(note.end - note.begin) : QString();
    case Where: return whereOf(*state_.session(), note);
    default: return fromUtf8(note.text);
    }
}

Qt::ItemFlags NotesModel::flags(const QModelIndex& index) const {
    const Qt::ItemFlags flags = ColumnModel::flags(index);
    return index.isValid() && index.column() == NoteText ? flags | Qt::ItemIsEditable : flags;
}

bool NotesModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !index.isValid() || index.column() != NoteText) return false;
    note_store_.setText(index.row(), value.toString());
    return true;
}

QString placeInTime(const Session& session, TimeNs time) {
    for (int step = session.stepCount() - 1; step >= 0; --step) {
        const TimeRange window = session.window(step);
        if (time < window.begin && step > 0) continue;
        return tr("step %1, %2").arg(session.step(step).index).arg(exactTime(time - window.begin));
    }
    return exactTime(time);
}

QString noteSummary(const Session& session, const Note& note) {
    const QString place = QStringLiteral("%1 · %2").arg(placeInTime(session, note.begin), whereOf(session, note));
    return note.text.empty() ? place : fromUtf8(note.text) + QLatin1Char('\n') + place;
}

} // namespace bubblescope::gui
