#include "app/gui/live/live_models.h"

#include "app/gui/language/format.h"
#include "app/gui/language/sentence_text.h"
#include "app/gui/live/live_text.h"
#include "app/gui/models/anomaly_model.h"

#include <QLocale>

#include <algorithm>

namespace bubblescope::gui {

void LiveAlertModel::show(LiveSnapshotPtr picture) {
    const std::vector<LiveAlert> none;
    const std::vector<LiveAlert>& now = picture ? picture->alerts : none;
    // Numbers rise by one, so that what went is at the old end and what is new at the other.
    const std::int64_t first = now.empty() ? 0 : now.front().number;
    const std::int64_t last_known = alerts_.empty() ? -1 : alerts_.back().number;
    const bool goes_on = !now.empty() && !alerts_.empty() && first <= last_known && first >= alerts_.front().number &&
                         now.back().number >= last_known;
    if (!goes_on) {
        if (now.empty() && alerts_.empty()) {
            picture_ = std::move(picture);
            return;
        }
        beginResetModel();
        alerts_ = now;
        picture_ = std::move(picture);
        endResetModel();
        return;
    }
    const auto gone = static_cast<int>(first - alerts_.front().number);
    if (gone > 0) {
        beginRemoveRows({}, rowCount() - gone, rowCount() - 1);
        alerts_.erase(alerts_.begin(), alerts_.begin() + gone);
        endRemoveRows();
    }
    const auto fresh = static_cast<int>(now.back().number - last_known);
    if (fresh > 0) {
        beginInsertRows({}, 0, fresh - 1);
        alerts_.insert(alerts_.end(), now.end() - fresh, now.end());
        picture_ = picture;
        endInsertRows();
    }
    picture_ = std::move(picture);
}

const LiveAlert& LiveAlertModel::at(int row) const {
    return alerts_[alerts_.size() - 1 - static_cast<std::size_t>(row)];
}

int LiveAlertModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(alerts_.size());
}

int LiveAlertModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant LiveAlertModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const LiveAlert& alert = at(index.row());
    if (role == kSeverityRole) return static_cast<int>(severityOf(alert));
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue<int>((index.column() == StepColumn ? Qt::AlignRight : Qt::AlignLeft) |
                                        Qt::AlignVCenter);
    if (role != Qt::DisplayRole && (role != Qt::ToolTipRole || index.column() != TextColumn)) return {};
    switch (index.column()) {
    case StepColumn: return alert.step;
    case SeverityColumn: return severityText(severityOf(alert));
    default: break;
    }
    const QString text = alertText(alert, *picture_);
    if (role == Qt::DisplayRole || !alert.anomaly) return text;
    return text + QLatin1Char('\n') + translated(alert.anomaly->suggestion);
}

QVariant LiveAlertModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case StepColumn: return tr("Step");
    case SeverityColumn: return tr("Severity");
    case TextColumn: return tr("What is the matter");
    default: return {};
    }
}

void LiveRankModel::show(LiveSnapshotPtr picture) {
    const std::size_t before = picture_ ? picture_->ranks.size() : 0;
    const std::size_t after = picture ? picture->ranks.size() : 0;
    if (before != after) {
        beginResetModel();
        picture_ = std::move(picture);
        endResetModel();
        return;
    }
    picture_ = std::move(picture);
    if (after > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

int LiveRankModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !picture_ ? 0 : static_cast<int>(picture_->ranks.size());
}

int LiveRankModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant LiveRankModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const live::LiveRank& rank = at(index.row());
    if (role == kStateRole) return static_cast<int>(rank.state);
    if (role == Qt::ToolTipRole) return fromUtf8(rank.why);
    if (role == Qt::TextAlignmentRole) {
        const bool counts = index.column() >= StepColumn && index.column() <= LostColumn;
        return QVariant::fromValue<int>((counts ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
    case RankColumn: return liveRankText(rank, *picture_);
    case StateColumn: return rankStateText(rank.state);
    case StepColumn: return rank.step < 0 ? QVariant() : QVariant(rank.step);
    case RecordsColumn: return QLocale().toString(static_cast<qlonglong>(rank.records));
    case LostColumn: return QLocale().toString(static_cast<qlonglong>(rank.dropped + rank.unheard));
    default: break;
    }
    return rank.host.empty() ? QString() : tr("%1, process %2").arg(fromUtf8(rank.host)).arg(rank.pid);
}

QVariant LiveRankModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case RankColumn: return tr("Rank");
    case StateColumn: return tr("State");
    case StepColumn: return tr("Step");
    case RecordsColumn: return tr("Records");
    case LostColumn: return tr("Lost");
    case HostColumn: return tr("Where");
    default: return {};
    }
}

} // namespace bubblescope::gui
