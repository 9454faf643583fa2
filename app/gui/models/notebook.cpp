#include "app/gui/models/notebook.h"

#include <algorithm>

namespace bubblescope::gui {

Notebook::Notebook(ViewState& state, QObject* parent) : QObject(parent), state_(state) {
    connect(&state_, &ViewState::sessionChanged, this, [this] {
        // The signal also comes when views are made anew for the same session.
        if (state_.session() != session_) close();
    });
}

void Notebook::close() {
    session_ = state_.session();
    file_.clear();
    notes_.clear();
    removed_.reset();
    current_ = -1;
    emit changed();
}

void Notebook::open(const std::filesystem::path& trace) {
    close();
    file_ = notesFileOf(trace);
    auto read = readNotes(file_);
    if (!read.ok()) {
        emit failed(read.error());
        return;
    }
    for (Note& note : read.value())
        insert(std::move(note));
    if (!notes_.empty()) emit changed();
}

int Notebook::insert(Note note) {
    const auto place = std::upper_bound(notes_.begin(), notes_.end(), note, [](const Note& a, const Note& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    const auto index = static_cast<int>(place - notes_.begin());
    notes_.insert(place, std::move(note));
    return index;
}

void Notebook::addHere() {
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

void Notebook::setText(int note, const QString& text) {
    if (note < 0 || note >= static_cast<int>(notes_.size())) return;
    std::string& now = notes_[static_cast<std::size_t>(note)].text;
    if (now == text.toStdString()) return;
    now = text.toStdString();
    save();
    emit changed();
}

void Notebook::remove(int note) {
    if (note < 0 || note >= static_cast<int>(notes_.size())) return;
    removed_ = notes_[static_cast<std::size_t>(note)];
    notes_.erase(notes_.begin() + note);
    current_ = std::min(current_, static_cast<int>(notes_.size()) - 1);
    save();
    emit changed();
}

void Notebook::restore() {
    if (!removed_) return;
    current_ = insert(*std::move(removed_));
    removed_.reset();
    save();
    emit changed();
    emit currentChanged(current_);
}

void Notebook::goTo(int note) {
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

void Notebook::goToNext(int direction) {
    const int count = static_cast<int>(notes_.size());
    if (count == 0) return;
    const int from = current_ < 0 && direction < 0 ? 0 : current_;
    goTo((from + direction + count) % count);
}

void Notebook::save() {
    if (file_.empty()) return;
    const Status written = writeNotes(file_, notes_);
    if (!written.ok()) emit failed(written.error());
}

} // namespace bubblescope::gui
