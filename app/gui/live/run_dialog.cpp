#include "app/gui/live/run_dialog.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"
#include "core/formats/source/existing_results.h"
#include "core/graph/simulate.h"
#include "core/schedule/schedule_files.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <cmath>
#include <initializer_list>

namespace bubblescope::gui {

namespace {

constexpr double kNsOfMs = 1e6;
constexpr int kMaxRanks = 64; ///< limit, because each rank is a thread of the same process

TimeNs fromMs(double ms) {
    return TimeNs{std::llround(ms * kNsOfMs)};
}

/// Duration of a step at the nominal times. Errors: Usage, naming the exceeded limit.
Result<TimeNs> stepTime(const ScheduleSpec& spec, const QString& file) {
    BUBBLESCOPE_ASSIGN(const Schedule schedule,
                       file.isEmpty() ? makeSchedule(spec) : readScheduleFile(file.toStdString()));
    CostModel costs;
    costs.times = spec.times;
    costs.comm = spec.comm;
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(schedule, costs));
    return step.end - step.begin;
}

} // namespace

RunDialog::RunDialog(ThemeManager& themes, const QString& folder, QWidget* parent)
    : QDialog(parent), themes_(themes), folder_(new QLineEdit(folder, this)), estimate_(new QLabel(this)),
      command_(new QLineEdit(this)) {
    setObjectName(QStringLiteral("runDialog"));
    setWindowTitle(tr("Run a schedule"));
    auto* intro = new QLabel(
        tr("Trains a small model with this schedule, with ranks as threads on this machine, and shows the run."), this);
    intro->setWordWrap(true);
    auto* halves = new QHBoxLayout;
    halves->addWidget(buildSchedule());
    halves->addWidget(buildFaults(), 1);

    named(folder_, "runFolder", tr("Folder for recordings"));
    auto* choose = new QPushButton(tr("Choose…"), this);
    auto* place = new QHBoxLayout;
    place->addWidget(folder_, 1);
    place->addWidget(choose);
    named(command_, "runCommand", tr("On the command line"));
    command_->setReadOnly(true);
    auto* below = new QFormLayout;
    below->addRow(tr("Folder for recordings"), place);
    below->addRow(tr("On the command line"), command_);
    estimate_->setObjectName(QStringLiteral("runEstimate"));
    estimate_->setWordWrap(true);
    estimate_->setMinimumHeight(2 * estimate_->fontMetrics().lineSpacing());

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    run_ = buttons->addButton(tr("Run"), QDialogButtonBox::AcceptRole);
    run_->setObjectName(QStringLiteral("runStart"));
    run_->setDefault(true);
    run_->setEnabled(false); // until the sizes have been checked
    auto* column = spaced(new QVBoxLayout(this), {16, 14, 16, 14}, 12);
    column->addWidget(intro);
    column->addLayout(halves);
    column->addLayout(below);
    addAll(*column, {estimate_, buttons});
    resize(720, sizeHint().height());

    connect(choose, &QPushButton::clicked, this, &RunDialog::chooseFolder);
    connect(folder_, &QLineEdit::textChanged, this, &RunDialog::check);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        emit runRequested(plan());
        accept();
    });
    fillFlavors();
}

QWidget* RunDialog::buildSchedule() {
    auto* group = new QGroupBox(tr("Schedule"), this);
    auto* form = new QFormLayout(group);
    schedule_ = ScheduleFields::addTo(*form, "run");
    const FormFields fields{*form, [this] { check(); }};
    pp_ = fields.count("runPp", tr("Ranks p"), 1, kMaxRanks, 4);
    microbatches_ = fields.count("runMicrobatches", tr("Micro-batches m"), 1, 1024, 8);
    vpp_ = fields.count("runVpp", tr("Chunks per rank v"), 1, 16, 1);
    forward_ = fields.time("runForward", tr("Forward"), 5);
    backward_ = fields.time("runBackward", tr("Backward"), 10);
    comm_ = fields.time("runComm", tr("Transfer"), 0);
    steps_ = fields.count("runSteps", tr("Steps to run"), 1, 1'000'000, 200);
    connect(schedule_.family, &QComboBox::currentIndexChanged, this, &RunDialog::fillFlavors);
    connect(schedule_.flavor, &QComboBox::currentIndexChanged, this, &RunDialog::check);
    return group;
}

QWidget* RunDialog::buildFaults() {
    auto* group = new QGroupBox(tr("Faults to inject"), this);
    auto* column = new QVBoxLayout(group);
    fault_ = named(new QComboBox(group), "runFault", tr("Kind of fault"));
    const auto kind = [this](const QString& text, const char* fault) {
        fault_->addItem(text, QString::fromLatin1(fault));
    };
    kind(tr("A rank becomes slow"), "slow:rank=2,factor=1.5,from=10");
    kind(tr("An op takes longer"), "op:F3,rank=1,add=5ms");
    kind(tr("Op times vary"), "jitter:rank=*,sigma=3%");
    kind(tr("A link is slow"), "link:0>1,latency=2ms");
    kind(tr("A transfer is delayed"), "stall:1>2,step=15,for=50ms");
    kind(tr("A rank pauses"), "pause:rank=1,step=15,op=B0,for=30ms");
    kind(tr("Records are lost"), "drop:rank=1,op=F,share=10%");
    kind(tr("A rank dies"), "die:rank=3,step=20,op=F1");
    auto* add = named(new QPushButton(tr("Add"), group), "runAddFault");
    auto* row = new QHBoxLayout;
    row->addWidget(fault_, 1);
    row->addWidget(add);
    faults_ = named(new QListWidget(group), "runFaults", tr("Faults to inject"));
    faults_->setToolTip(
        tr("Double-click or press F2 to edit, Delete to remove. The manual's page on running lists all faults."));
    faults_->installEventFilter(this);
    auto* hint = new QLabel(tr("Edit a fault with F2, remove it with Delete."), group);
    hint->setWordWrap(true);
    column->addLayout(row);
    column->addWidget(faults_, 1);
    column->addWidget(hint);
    connect(add, &QPushButton::clicked, this, &RunDialog::addFault);
    connect(faults_, &QListWidget::itemChanged, this, &RunDialog::check);
    return group;
}

bool RunDialog::eventFilter(QObject* watched, QEvent* event) {
    if (watched == faults_ && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Delete && faults_->currentItem() != nullptr) {
            delete faults_->takeItem(faults_->currentRow());
            check();
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

void RunDialog::fillFlavors() {
    schedule_.offerFlavors();
    check();
}

void RunDialog::addFault() {
    auto* item = new QListWidgetItem(fault_->currentData().toString());
    item->setFlags(item->flags() | Qt::ItemIsEditable);
    faults_->addItem(item);
    faults_->setCurrentItem(item);
    check();
}

void RunDialog::chooseFolder() {
    auto* dialog = new QFileDialog(this, tr("Folder for recordings"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, folder_, &QLineEdit::setText);
    dialog->open();
}

void RunDialog::setOrder(const QString& file, const ScheduleSpec& spec) {
    order_file_ = file;
    const auto ms = [](TimeNs time) { return static_cast<double>(time.count()) / kNsOfMs; };
    pp_->setValue(spec.pp);
    microbatches_->setValue(spec.microbatches);
    vpp_->setValue(spec.vpp);
    forward_->setValue(ms(spec.times.forward));
    backward_->setValue(ms(spec.times.backward));
    comm_->setValue(ms(spec.comm));
    for (QWidget* field :
         std::initializer_list<QWidget*>{schedule_.family, schedule_.flavor, pp_, microbatches_, vpp_}) {
        field->setEnabled(false);
        field->setToolTip(tr("Same order as in the schedule lab"));
    }
    check();
}

RunPlan RunDialog::plan() const {
    RunPlan plan;
    plan.schedule_file = order_file_;
    plan.spec.name = schedule_.family->currentText().toStdString();
    plan.spec.flavor = schedule_.flavor->currentText().toStdString();
    plan.spec.pp = pp_->value();
    plan.spec.microbatches = microbatches_->value();
    plan.spec.vpp = vpp_->value();
    plan.spec.times.forward = fromMs(forward_->value());
    plan.spec.times.backward = fromMs(backward_->value());
    plan.spec.times.input_grad = plan.spec.times.backward / 2;
    plan.spec.times.weight_grad = plan.spec.times.backward - plan.spec.times.input_grad;
    plan.spec.comm = fromMs(comm_->value());
    plan.steps = steps_->value();
    plan.folder = folder_->text();
    for (int row = 0; row < faults_->count(); ++row) {
        const QString fault = faults_->item(row)->text().trimmed();
        if (!fault.isEmpty()) plan.faults << fault;
    }
    return plan;
}

void RunDialog::check() {
    if (run_ == nullptr) return; // the dialog is still being built
    const RunPlan wanted = plan();
    command_->setText(wanted.commandLine());
    command_->setCursorPosition(0);
    run_->setEnabled(false);
    job_.start([spec = wanted.spec, file = order_file_](JobControl&) { return stepTime(spec, file); },
               [this](Result<TimeNs> step) { showEstimate(std::move(step)); });
}

void RunDialog::showEstimate(Result<TimeNs> step) {
    const Theme& theme = themes_.theme();
    const bool named = !folder_->text().isEmpty();
    const bool free = !named || mustHoldNone(folder_->text().toStdString(), kTraceEnding).ok();
    const bool good = step.ok() && named && free;
    if (good) {
        const TimeNs all = step.value() * steps_->value();
        estimate_->setText(
            tr("With these times, a step takes %1 plus the optimizer; all steps together take at least %2.")
                .arg(shortTime(step.value()), shortTime(all)));
    } else {
        estimate_->setText(!step.ok() ? sentence(fromUtf8(step.error().text()))
                           : free     ? tr("Choose a folder for the recording.")
                                      : tr("The folder contains an earlier run. Choose another one."));
    }
    estimate_->setPalette(good ? theme.palette : theme.withText(theme.bad));
    run_->setEnabled(good);
    emit checked(good);
}

} // namespace bubblescope::gui
