#include "app/gui/panels/teach_panel.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "app/gui/panels/file_dialogs.h"
#include "app/gui/panels/widgets.h"
#include "core/families/registry.h"
#include "core/formats/source/replacing_file.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QStyle>
#include <QTabWidget>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace bubblescope::gui {

namespace {

constexpr int kMostNumber = 999'999;
constexpr std::array kTaughtKinds{OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight,
                                  OpKind::Optimizer};
constexpr std::array kTaughtRanks{RankSource::File, RankSource::Processes, RankSource::Process, RankSource::Thread};

/// Most likely kind of op for a name.
OpKind likelyKind(std::string_view name) {
    const QString text = fromUtf8(name).toLower();
    const auto has = [&](const char* word) { return text.contains(QLatin1String(word)); };
    if (has("optim")) return OpKind::Optimizer;
    if (has("wgrad") || has("weight")) return OpKind::BackwardWeight;
    if (has("dgrad")) return OpKind::BackwardInput;
    if (has("backward") || has("bwd") || has("back")) return OpKind::Backward;
    return OpKind::Forward;
}

/// First number in a name, or micro-batch from an arg; 0 if there is neither.
int likelyMicrobatch(const Trace& trace, SliceId slice) {
    std::string_view name = trace.name(slice);
    while (!name.empty()) {
        if (const auto number = takeNumber(name); number && *number <= kMostNumber) return static_cast<int>(*number);
        if (!name.empty()) name.remove_prefix(1);
    }
    for (const char* arg : {"microbatch", "mb", "mb_id", "micro_batch", "micro_batch_id", "microbatch_id"}) {
        if (const auto number = trace.intArg(trace.sliceArgs()[slice], arg); number && *number <= kMostNumber)
            return static_cast<int>(*number);
    }
    return 0;
}

QSpinBox* numberBox(const char* name, const QString& label, bool optional, QFormLayout& form, QWidget* parent) {
    auto* box = named(new QSpinBox(parent), name);
    box->setAccessibleName(label);
    box->setRange(optional ? -1 : 0, kMostNumber);
    if (optional) box->setSpecialValueText(tr("unspecified"));
    box->setValue(optional ? -1 : 0);
    form.addRow(label, box);
    return box;
}

QString rankText(RankSource source) {
    switch (source) {
    case RankSource::File: return tr("one file each");
    case RankSource::Processes: return tr("order of the processes");
    case RankSource::Process: return tr("the process's number");
    case RankSource::Thread: return tr("the thread's number, from 1");
    case RankSource::Names: break;
    }
    return {};
}

} // namespace

TeachPanel::TeachPanel(QWidget* parent) : QWidget(parent), tabs_(new QTabWidget(this)), status_(new QLabel(this)) {
    setObjectName(QStringLiteral("teachPanel"));
    tabs_->setObjectName(QStringLiteral("teachTabs"));
    tabs_->setDocumentMode(true);
    const auto scrolled = [this](QWidget* page) {
        auto* area = new QScrollArea(this);
        area->setFrameShape(QFrame::NoFrame);
        area->setWidgetResizable(true);
        area->setWidget(page);
        return area;
    };
    tabs_->addTab(scrolled(namesPage()), tr("By names"));
    tabs_->addTab(scrolled(schedulePage()), tr("By schedule"));
    auto* close = named(new QToolButton(tabs_), "teachClose");
    close->setIcon(style()->standardIcon(QStyle::SP_TitleBarCloseButton));
    close->setAutoRaise(true);
    close->setToolTip(tr("Close"));
    close->setAccessibleName(tr("Close"));
    connect(close, &QToolButton::clicked, this, [this] {
        hide();
        emit closed();
    });
    tabs_->setCornerWidget(close);
    status_->setObjectName(QStringLiteral("teachStatus"));
    status_->setWordWrap(true);
    status_->setTextFormat(Qt::PlainText);
    status_->setContentsMargins(10, 4, 10, 8);
    status_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* column = spaced(new QVBoxLayout(this), {0, 0, 0, 0});
    column->addWidget(tabs_, 1);
    column->addWidget(status_);
    showOps();
}

QWidget* TeachPanel::namesPage() {
    auto* page = new QWidget(this);
    auto* column = new QVBoxLayout(page);
    auto* lead = new QLabel(tr("Click a slice that is an op, and choose which op it is."), page);
    lead->setWordWrap(true);
    column->addWidget(lead);
    auto* form = new QFormLayout;
    example_name_ = named(new QLabel(page), "teachExample");
    example_name_->setTextFormat(Qt::PlainText);
    example_name_->setWordWrap(true);
    form->addRow(tr("Slice"), example_name_);
    kind_ = named(new QComboBox(page), "teachKind", tr("Kind"));
    for (const OpKind kind : kTaughtKinds)
        kind_->addItem(sentence(opKindText(kind)), static_cast<int>(kind));
    form->addRow(tr("Kind"), kind_);
    microbatch_ = numberBox("teachMicrobatch", tr("Micro-batch"), false, *form, page);
    chunk_ = numberBox("teachChunk", tr("Chunk"), true, *form, page);
    stage_ = numberBox("teachStage", tr("Stage"), true, *form, page);
    pattern_ = named(new QLineEdit(page), "teachPattern", tr("Pattern"));
    pattern_->setToolTip(tr("{microbatch}, {chunk}, {stage}, {step} and {rank} are numbers; * is any text; […] may be "
                            "missing; \\ escapes the next character."));
    form->addRow(tr("Pattern"), pattern_);
    count_ = named(new QLabel(page), "teachCount");
    count_->setWordWrap(true);
    form->addRow(tr("Matches"), count_);
    column->addLayout(form);
    add_ = named(new QPushButton(tr("Add to the rule"), page), "teachAdd");
    column->addWidget(add_);
    list_ = named(new QTableWidget(0, 3, page), "teachList", tr("Ops of the rule"));
    list_->setHorizontalHeaderLabels({tr("Kind"), tr("Pattern"), tr("Matches")});
    list_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
    list_->verticalHeader()->hide();
    list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    list_->setSelectionBehavior(QAbstractItemView::SelectRows);
    list_->setTabKeyNavigation(false);
    list_->setMinimumHeight(90);
    column->addWidget(list_, 1);
    auto* remove = named(new QPushButton(tr("Remove from the rule"), page), "teachRemove");
    column->addWidget(remove);
    auto* rank_form = new QFormLayout;
    ranks_ = named(new QComboBox(page), "teachRanks", tr("Ranks"));
    for (const RankSource source : kTaughtRanks)
        ranks_->addItem(rankText(source), static_cast<int>(source));
    rank_form->addRow(tr("Ranks"), ranks_);
    column->addLayout(rank_form);
    reopen_ = named(new QPushButton(tr("Show the pipeline"), page), "teachReopen");
    save_ = named(new QPushButton(tr("Save the rule…"), page), "teachSave");
    save_->setToolTip(tr("Saves a file for the --rules option of all commands that read traces"));
    addAll(*column, {reopen_, save_});

    connect(kind_, &QComboBox::currentIndexChanged, this, &TeachPanel::propose);
    for (QSpinBox* box : {microbatch_, chunk_, stage_})
        connect(box, &QSpinBox::valueChanged, this, &TeachPanel::propose);
    connect(pattern_, &QLineEdit::textEdited, this, &TeachPanel::statePattern);
    connect(add_, &QPushButton::clicked, this, &TeachPanel::addOp);
    connect(remove, &QPushButton::clicked, this, &TeachPanel::removeOp);
    connect(reopen_, &QPushButton::clicked, this, &TeachPanel::reopenByNames);
    connect(save_, &QPushButton::clicked, this, &TeachPanel::chooseFile);
    return page;
}

QWidget* TeachPanel::schedulePage() {
    auto* page = new QWidget(this);
    auto* column = new QVBoxLayout(page);
    auto* lead = new QLabel(tr("Specify the schedule that was run. The order of computations and transfers then "
                               "identifies the op of each block. Sizes that you leave empty are taken from the trace."),
                            page);
    lead->setWordWrap(true);
    column->addWidget(lead);
    auto* form = new QFormLayout;
    family_ = named(new QComboBox(page), "teachFamily", tr("Schedule"));
    family_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (const ScheduleFamily& family : scheduleFamilies())
        family_->addItem(fromUtf8(family.title), fromUtf8(family.name));
    form->addRow(tr("Schedule"), family_);
    const auto size = [&](const char* name, const QString& label) {
        QSpinBox* box = numberBox(name, label, false, *form, page);
        box->setSpecialValueText(tr("as in the trace"));
        return box;
    };
    pp_ = size("teachPp", tr("Pipeline ranks"));
    microbatches_ = size("teachMicrobatches", tr("Micro-batches"));
    vpp_ = size("teachVpp", tr("Chunks per rank"));
    column->addLayout(form);
    auto* open = named(new QPushButton(tr("Show the pipeline"), page), "teachBySchedule");
    connect(open, &QPushButton::clicked, this, &TeachPanel::reopenBySchedule);
    column->addWidget(open);
    column->addStretch(1);
    return page;
}

void TeachPanel::showNames() {
    tabs_->setCurrentIndex(0);
}
void TeachPanel::showSchedule() {
    tabs_->setCurrentIndex(1);
}

void TeachPanel::complain(const QString& text) {
    status_->setText(text);
    status_->setVisible(!text.isEmpty());
}

void TeachPanel::setSession(SessionPtr session) {
    if (session && (session->hasSteps() || session->isBeginning())) session = nullptr;
    const bool again = session_ && session && session_->run.files == session->run.files;
    job_.cancel();
    example_ = kNoId;
    stated_.reset();
    stated_matches_ = {};
    if (again) {
        complain(sentence(errorText(*session->no_pipeline)));
    } else {
        ops_.clear();
        matches_.clear();
        complain({});
        hide();
    }
    session_ = std::move(session);
    example_name_->clear();
    pattern_->clear();
    count_->clear();
    showOps();
}

void TeachPanel::setExample(SliceId slice) {
    if (!session_ || slice == kNoId) return;
    example_ = slice;
    const Trace& trace = *session_->run.trace;
    const std::string_view name = trace.name(slice);
    example_name_->setText(
        QString::fromUtf8(name.data(), static_cast<qsizetype>(std::min<std::size_t>(name.size(), 160))));
    const QSignalBlocker quiet_kind(kind_);
    const QSignalBlocker quiet_number(microbatch_);
    kind_->setCurrentIndex(kind_->findData(static_cast<int>(likelyKind(name))));
    microbatch_->setValue(likelyMicrobatch(trace, slice));
    propose();
}

/// Derives a pattern from the description of the example.
void TeachPanel::propose() {
    if (!session_ || example_ == kNoId) return;
    const Trace& trace = *session_->run.trace;
    OpExample example;
    example.name = trace.name(example_);
    example.kind = static_cast<OpKind>(kind_->currentData().toInt());
    example.microbatch = microbatch_->value();
    if (chunk_->value() >= 0) example.chunk = chunk_->value();
    if (stage_->value() >= 0) example.stage = stage_->value();
    example.arg_with = [&](std::int64_t value) -> std::optional<std::string> {
        for (const Arg& arg : trace.args(trace.sliceArgs()[example_])) {
            const auto* whole = std::get_if<std::int64_t>(&arg.value);
            if (whole != nullptr && *whole == value) return arg.name;
        }
        return std::nullopt;
    };
    microbatch_->setEnabled(example.kind != OpKind::Optimizer);
    Result<TaughtOp> made = opByExample(example);
    if (!made.ok()) {
        job_.cancel();
        stated_.reset();
        stated_matches_ = {};
        pattern_->clear();
        add_->setEnabled(false);
        count_->setText(sentence(errorText(made.error())));
        emit matched();
        return;
    }
    stated_ = std::move(made).value();
    pattern_->setText(fromUtf8(stated_->pattern));
    match();
}

void TeachPanel::statePattern() {
    if (!session_) return;
    if (!stated_) stated_.emplace();
    stated_->kind = static_cast<OpKind>(kind_->currentData().toInt());
    stated_->pattern = pattern_->text().toStdString();
    match();
}

void TeachPanel::match() {
    add_->setEnabled(false);
    count_->setText(tr("Counting …"));
    job_.start([session = session_,
                op = *stated_](JobControl& control) { return matchesOf(op, *session->run.trace, control); },
               [this](const Result<TaughtMatches>& result) { showMatches(result); });
}

void TeachPanel::showMatches(const Result<TaughtMatches>& matches) {
    if (!matches.ok()) {
        stated_matches_ = {};
        count_->setText(sentence(errorText(matches.error())));
        emit matched();
        return;
    }
    stated_matches_ = matches.value();
    const auto count = stated_matches_.slices.size();
    count_->setText(count == 0 ? tr("none")
                               : tr("%Ln slice(s) on %1, micro-batches %2 to %3", nullptr, static_cast<int>(count))
                                     .arg(tr("%Ln lane(s)", nullptr, static_cast<int>(stated_matches_.tracks)))
                                     .arg(stated_matches_.first_microbatch)
                                     .arg(stated_matches_.last_microbatch));
    add_->setEnabled(count > 0);
    emit matched();
}

std::vector<SliceId> TeachPanel::allMatches() const {
    std::vector<SliceId> out = stated_matches_.slices;
    for (const TaughtMatches& of_op : matches_)
        out.insert(out.end(), of_op.slices.begin(), of_op.slices.end());
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

void TeachPanel::addOp() {
    if (!stated_ || stated_matches_.slices.empty()) return;
    const auto known = std::ranges::find(ops_, *stated_);
    if (known == ops_.end()) {
        ops_.push_back(*stated_);
        matches_.push_back(stated_matches_);
    }
    const RankSource likely = likelyRankSource(matches_, *session_->run.trace);
    ranks_->setCurrentIndex(std::max(0, ranks_->findData(static_cast<int>(likely))));
    showOps();
}

void TeachPanel::removeOp() {
    const int row = list_->currentRow();
    if (row < 0 || row >= static_cast<int>(ops_.size())) return;
    ops_.erase(ops_.begin() + row);
    matches_.erase(matches_.begin() + row);
    showOps();
    emit matched();
}

void TeachPanel::showOps() {
    list_->setRowCount(static_cast<int>(ops_.size()));
    for (int row = 0; row < list_->rowCount(); ++row) {
        const TaughtOp& op = ops_[static_cast<std::size_t>(row)];
        list_->setItem(row, 0, new QTableWidgetItem(QString(QChar::fromLatin1(opLetter(op.kind)))));
        list_->setItem(row, 1, new QTableWidgetItem(fromUtf8(op.pattern)));
        list_->setItem(row, 2,
                       new QTableWidgetItem(QString::number(matches_[static_cast<std::size_t>(row)].slices.size())));
    }
    list_->resizeColumnToContents(0);
    const bool any = !ops_.empty();
    add_->setEnabled(stated_ && !stated_matches_.slices.empty());
    reopen_->setEnabled(any);
    save_->setEnabled(any);
}

TaughtRule TeachPanel::rule() const {
    TaughtRule rule;
    rule.name = session_ && !session_->run.files.empty() ? session_->run.files.front().stem().string() : "taught";
    rule.ops = ops_;
    rule.rank = static_cast<RankSource>(ranks_->currentData().toInt());
    // Without chunks or stages, each rank is one stage.
    rule.one_stage_per_rank = std::ranges::none_of(ops_, [](const TaughtOp& op) {
        const auto has = [&](RuleField field) {
            const std::string word = "{" + std::string(kRuleFieldNames[static_cast<std::size_t>(field)]) + "}";
            return op.pattern.find(word) != std::string::npos || !op.args[static_cast<std::size_t>(field)].empty();
        };
        return has(RuleField::ChunkId) || has(RuleField::StageId);
    });
    return rule;
}

Result<std::string> TeachPanel::document() const {
    if (ops_.empty())
        return usageError(tr("The rule has no ops yet").toStdString(),
                          tr("click a slice, choose which op it is, and add it").toStdString());
    return rulesDocument(rule());
}

Status TeachPanel::saveRule(const QString& file) const {
    BUBBLESCOPE_ASSIGN(const std::string text, document());
    ReplacingFile out(file.toStdString());
    out.write(text);
    return out.commit();
}

void TeachPanel::chooseFile() {
    const NewFile wanted{tr("Save the rule"), QStringLiteral("rules.json"), QStringLiteral("json"),
                         tr("Rules (*.json)")};
    askWhereToSave(*this, wanted, [this](const QString& file) {
        const Status saved = saveRule(file);
        complain(saved.ok() ? tr("Written: %1").arg(file) : sentence(errorText(saved.error())));
    });
}

void TeachPanel::reopenByNames() {
    const Result<std::string> text = document();
    if (!text.ok()) return complain(sentence(errorText(text.error())));
    const Taught taught{text.value(), std::nullopt};
    if (const auto options = taught.options(); !options.ok()) return complain(sentence(errorText(options.error())));
    complain({});
    emit reopenRequested(taught);
}

void TeachPanel::reopenBySchedule() {
    complain({});
    ScheduleSpec spec;
    spec.name = family_->currentData().toString().toStdString();
    spec.pp = pp_->value();
    spec.microbatches = microbatches_->value();
    spec.vpp = vpp_->value();
    emit reopenRequested({{}, spec});
}

} // namespace bubblescope::gui
