#pragma once

#include "app/gui/models/column_model.h"
#include "app/gui/models/session.h"

#include <cstddef>
#include <optional>
#include <stop_token>
#include <vector>

namespace bubblescope::gui {

/// Property by which the content of a time range is grouped.
enum class RangeGroup : std::uint8_t {
    Kind,   ///< such as forward, backward, bubbles or transfers
    Op,     ///< op such as "F3.1", on all ranks
    Rank,   ///< rank of the ops
    Stage,  ///< stage of the ops
    Kernel, ///< name of raw slices
};

/// Items with the same name in a time range.
struct RangeRow {
    QString name;
    std::size_t count = 0; ///< number of items that overlap the range
    TimeNs total{0};       ///< time within the range
    TimeNs self{0};        ///< for slices: excluding the time of nested slices
    TimeNs longest{0};     ///< longest duration of a single item
    ItemRef longest_item;
    bool beside = false; ///< true if concurrent with ops and bubbles, so that shares add up to more than 100 %

    [[nodiscard]] TimeNs mean() const { return count == 0 ? TimeNs{0} : total / static_cast<std::int64_t>(count); }
};

/// Content of a time range, in groups.
struct RangeTable {
    std::vector<RangeRow> rows; ///< sorted by total time, descending
    std::size_t slices = 0;     ///< number of slices, for RangeGroup::Kernel
    TimeNs busy{0};             ///< time covered by slices, summed over all lanes with slices
    std::size_t lanes = 0;
};

/// Linear in the number of items that overlap the range. `tracks` (ascending) selects the tracks of slices, and `only`
/// selects a line; by default, all are included. Returns an incomplete table if a stop is requested. Any thread.
[[nodiscard]] RangeTable rangeTable(const Session& session, const TimeRange& range, RangeGroup group,
                                    const std::vector<TrackId>& tracks = {}, std::stop_token stop = {},
                                    std::optional<int> only = {});

/// Table model of the rows. kSortRole sorts numerically.
class RangeTableModel : public ColumnModel {
    Q_OBJECT

public:
    enum { NameColumn, CountColumn, TotalColumn, SelfColumn, MeanColumn, LongestColumn, ShareColumn };

    using ColumnModel::ColumnModel;

    /// `whole` is the time that corresponds to 100 %, such as the sum over all ranks.
    void show(std::vector<RangeRow> rows, TimeNs whole, const QString& name_title);
    [[nodiscard]] const RangeRow& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }

protected:
    [[nodiscard]] std::size_t rows() const override { return rows_.size(); }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    std::vector<RangeRow> rows_;
    TimeNs whole_{0};
    QString name_title_;
};

} // namespace bubblescope::gui
