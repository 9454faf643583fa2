#pragma once

#include "app/gui/models/session.h"

#include <QAbstractTableModel>
#include <QString>

#include <cstddef>
#include <optional>
#include <stop_token>
#include <vector>

namespace bubblescope::gui {

/// The property by which the content of a time range is grouped.
enum class RangeGroup : std::uint8_t {
    Kind,   ///< forward, backward, …, bubbles, transfers
    Op,     ///< "F3.1" on all ranks
    Rank,   ///< a rank's ops
    Stage,  ///< ops of a stage
    Kernel, ///< slices of the raw trace by name
};
inline constexpr std::size_t kRangeGroups = 5;

/// The items of one name in a time range.
struct RangeRow {
    QString name;
    std::size_t count = 0; ///< number of items that overlap the range
    TimeNs total{0};       ///< within the range
    TimeNs self{0};        ///< for slices: without the time of slices inside them
    TimeNs longest{0};     ///< longest duration of a single item
    ItemRef longest_item;
    bool beside = false; ///< concurrent with ops and bubbles, so its share does not add up with theirs

    [[nodiscard]] TimeNs mean() const { return count == 0 ? TimeNs{0} : total / static_cast<std::int64_t>(count); }
};

/// The content of a time range.
struct RangeTable {
    std::vector<RangeRow> rows; ///< by total time, descending
    std::size_t slices = 0;     ///< number of slices in RangeGroup::Kernel
    TimeNs busy{0};             ///< time covered by slices, summed over the lanes that have any
    std::size_t lanes = 0;
};

/// Linear in the number of items that overlap the range. `tracks`: the tracks whose slices count, ascending; none: all.
/// If asked to stop, returns early with an incomplete table. `only` is the line of a rank; none: all lines. Any thread.
[[nodiscard]] RangeTable rangeTable(const Session& session, const TimeRange& range, RangeGroup group,
                                    const std::vector<TrackId>& tracks = {}, std::stop_token stop = {},
                                    std::optional<int> only = {});

/// The rows as a table. Sorts numerically by kSortRole.
class RangeTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column {
        NameColumn,
        CountColumn,
        TotalColumn,
        SelfColumn,
        MeanColumn,
        LongestColumn,
        ShareColumn,
        ColumnCount
    };
    static constexpr int kSortRole = Qt::UserRole;

    using QAbstractTableModel::QAbstractTableModel;

    /// `whole` is the time that counts as 100 %, such as all ranks' time in the range.
    void show(std::vector<RangeRow> rows, TimeNs whole, const QString& name_title);
    [[nodiscard]] const RangeRow& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<RangeRow> rows_;
    TimeNs whole_{0};
    QString name_title_;
};

} // namespace bubblescope::gui
