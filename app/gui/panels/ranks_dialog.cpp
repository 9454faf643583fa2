#include "app/gui/panels/ranks_dialog.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr int kMostRank = 1'000'000;

struct RanksColumn {
    enum { File, Process, Source, Number, Count };
};

/// Source of the rank of a file.
QString sourceOf(const TraceFile& file, bool was_stated) {
    if (was_stated) return tr("set by you");
    if (!file.rank) return tr("order of the files");
    if (!file.named_rank) return tr("in the file");
    if (*file.named_rank != *file.rank) return tr("in the file; its name says %1").arg(*file.named_rank);
    return tr("in the file or its name");
}

} // namespace

RanksDialog::RanksDialog(const Session& session, std::vector<RankRule> stated, QWidget* parent)
    : QDialog(parent), stated_(std::move(stated)), table_(new QTableWidget(0, RanksColumn::Count, this)) {
    setObjectName(QStringLiteral("ranksDialog"));
    setWindowTitle(tr("Ranks of files"));
    resize(760, 420);
    auto* const text = new QLabel(
        tr("Set the rank of each file whose rank is wrong or guessed. The trace is then loaded again."), this);
    text->setWordWrap(true);
    named(table_, "ranksTable", tr("Ranks of files"));
    table_->setHorizontalHeaderLabels({tr("File"), tr("Process"), tr("Source of the rank"), tr("Rank")});
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    styleTable(*table_);
    const std::span<const TraceFile> files = session.run.inputs();
    const std::vector<std::int64_t> ranks = ranksOfFiles(files);
    bool any_process = false;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (files[i].format.empty()) continue; // the file is unusable
        addRow(files[i], ranks[i]);
        any_process = any_process || !files[i].process.empty();
    }
    lockAmbiguous();
    table_->setColumnHidden(RanksColumn::Process, !any_process);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setSectionResizeMode(RanksColumn::File, QHeaderView::Stretch);
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    buttons->button(QDialogButtonBox::Ok)->setText(tr("&Load again"));
    buttons->button(QDialogButtonBox::Ok)->setObjectName(QStringLiteral("ranksLoad"));
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        emit this->stated(rules());
        accept();
    });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* const column = new QVBoxLayout(this);
    column->addWidget(text);
    column->addWidget(table_, 1);
    column->addWidget(buttons);
}

void RanksDialog::addRow(const TraceFile& file, std::int64_t rank) {
    const std::string pattern = file.process.empty() ? file.path.string() : file.process;
    const int row = table_->rowCount();
    table_->insertRow(row);
    const bool was_stated = std::ranges::find(stated_, pattern, &RankRule::pattern) != stated_.end();
    const QString path = fromUtf8(file.path.string());
    table_->setItem(row, RanksColumn::File, new QTableWidgetItem(fromUtf8(file.path.filename().string())));
    table_->item(row, RanksColumn::File)->setToolTip(path);
    table_->setItem(row, RanksColumn::Process, new QTableWidgetItem(fromUtf8(file.process)));
    table_->setItem(row, RanksColumn::Source, new QTableWidgetItem(sourceOf(file, was_stated)));
    auto* const box = new QSpinBox(table_);
    box->setObjectName(QStringLiteral("rankOfFile%1").arg(row));
    box->setAccessibleName(tr("Rank of %1").arg(path));
    box->setRange(0, kMostRank);
    box->setValue(static_cast<int>(std::clamp<std::int64_t>(rank, 0, kMostRank)));
    table_->setCellWidget(row, RanksColumn::Number, box);
    rows_.push_back({pattern, box->value(), !file.rank});
}

/// Locks processes whose names occur in two files, because rules match processes only by name.
void RanksDialog::lockAmbiguous() {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (std::ranges::count(rows_, rows_[row].pattern, &Row::pattern) == 1) continue;
        QWidget* const box = table_->cellWidget(static_cast<int>(row), RanksColumn::Number);
        box->setEnabled(false);
        box->setToolTip(
            tr("Several files have a process with this name. Open the files one by one, or rename the process."));
    }
}

std::vector<RankRule> RanksDialog::rules() const {
    const auto chosen = [this](std::size_t row) {
        return static_cast<QSpinBox*>(table_->cellWidget(static_cast<int>(row), RanksColumn::Number))->value();
    };
    std::vector<RankRule> rules = stated_;
    bool any_changed = false;
    for (std::size_t row = 0; row < rows_.size(); ++row)
        any_changed = any_changed || chosen(row) != rows_[row].rank;
    for (std::size_t row = 0; any_changed && row < rows_.size(); ++row) {
        if (chosen(row) == rows_[row].rank && !rows_[row].guessed) continue;
        std::erase_if(rules, [&](const RankRule& rule) { return rule.pattern == rows_[row].pattern; });
        rules.push_back({rows_[row].pattern, chosen(row)});
    }
    return rules;
}

} // namespace bubblescope::gui
