#pragma once

#include "app/gui/models/notebook.h"

#include <QAbstractTableModel>

namespace bubblescope::gui {

/// A notebook as a table; texts can be edited.
class NotesModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { When, Length, Where, NoteText, ColumnCount };

    /// Both must outlive the model.
    NotesModel(const ViewState& state, Notebook& notebook, QObject* parent = nullptr);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

private:
    void update();

    const ViewState& state_;
    Notebook& notebook_;
    int rows_ = 0;
};

/// "step 3, 12.4 ms" for a time of the trace.
[[nodiscard]] QString placeInTime(const Session& session, TimeNs time);

/// What a note says, with its place, for tooltips and screen readers.
[[nodiscard]] QString noteSummary(const Session& session, const Note& note);

} // namespace bubblescope::gui
