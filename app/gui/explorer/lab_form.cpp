#include "app/gui/explorer/lab_form.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/list_field.h"
#include "app/gui/panels/widgets.h"
#include "core/base/bytes.h"
#include "core/cost/cost_files.h"

#include <QComboBox>
#include <QEvent>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace bubblescope::gui {

namespace {

/// Stages whose times differ by less are treated as equal, because a closed form is more useful than noisy times.
constexpr double kUneven = 0.05;

/// The numbers from `low` to `high`, sorted by their distance from `value`.
std::vector<int> byDistance(int value, int low, int high) {
    std::vector<int> out{value};
    for (int other = low; other <= high; ++other) {
        if (other != value) out.push_back(other);
    }
    std::ranges::stable_sort(out, {}, [value](int other) { return std::abs(other - value); });
    return out;
}

/// Changes v, then m, then p until the family supports the sizes. Returns nothing if no nearby sizes are supported.
std::optional<ScheduleSpec> nearestSizes(ScheduleSpec spec) {
    constexpr int kMostChunks = 8;
    const int wanted_m = spec.microbatches;
    const int wanted_v = spec.vpp;
    for (const int p : byDistance(spec.pp, std::max(1, spec.pp - 1), spec.pp + 1)) {
        const auto multiple = [&](int of) { return (wanted_m + of - 1) / of * of; };
        for (const int m : {wanted_m, multiple(2), multiple(p), multiple(2 * p), 2 * p}) {
            for (const int v : byDistance(wanted_v, 1, kMostChunks)) {
                spec.pp = p;
                spec.microbatches = m;
                spec.vpp = v;
                if (makeSchedule(spec).ok()) return spec;
            }
        }
    }
    return std::nullopt;
}

/// Splits the backward of a stage if the trace contains only the complete backward.
OpTimes withHalves(OpTimes times) {
    if (times.input_grad <= TimeNs{0} || times.weight_grad <= TimeNs{0}) {
        times.weight_grad = times.backward / 2;
        times.input_grad = times.backward - times.weight_grad;
    }
    return times;
}

/// By global stage; empty if a stage has no separate forward, as in a schedule of overlapped pairs.
std::vector<OpTimes> timesOfStages(const Session& session) {
    const Schedule& schedule = session.run.schedule;
    std::vector<OpTimes> stages(static_cast<std::size_t>(schedule.stages()));
    for (const StageTimes& one : session.report.stages) {
        if (one.stage.index() < stages.size()) stages[one.stage.index()] = withHalves(one.median);
    }
    const bool all = std::ranges::all_of(stages, [](const OpTimes& times) { return times.forward > TimeNs{0}; });
    return all ? stages : std::vector<OpTimes>();
}

bool uneven(const std::vector<OpTimes>& stages) {
    if (stages.empty()) return false;
    const auto work = [](const OpTimes& times) { return times.forward + times.input_grad + times.weight_grad; };
    const auto [least, most] = std::ranges::minmax(stages, {}, work);
    return static_cast<double>((work(most) - work(least)).count()) > kUneven * static_cast<double>(work(least).count());
}

TimeNs at(const std::vector<std::int64_t>& values, std::size_t index) {
    return TimeNs{values.empty() ? 0 : values.size() == 1 ? values.front() : values[index]};
}

std::int64_t only(const std::vector<std::int64_t>& values) {
    return values.empty() ? 0 : values.front();
}

QComboBox* addChoice(QFormLayout& form, const char* name, const QString& label) {
    auto* const box = named(new QComboBox(form.parentWidget()), name);
    box->setAccessibleName(label);
    form.addRow(label, box);
    return box;
}

} // namespace

LabForm::LabForm(ThemeManager& themes, QWidget* parent) : QScrollArea(parent), themes_(themes) {
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* const panel = new QWidget(this);
    auto* const column = spaced(new QVBoxLayout(panel), {12, 12, 12, 12});
    auto* const form = new QFormLayout;
    column->addLayout(form);
    setWidget(panel);
    addSizes(*form);
    addTimes(*form);
    addTransfers(*form);
    for (const ListField* field : std::initializer_list<ListField*>{memory_limit_, forward_, input_grad_, weight_grad_,
                                                                    comm_, bytes_, bandwidth_})
        connect(field, &ListField::changed, this, &LabForm::change);
    connect(schedule_.family, &QComboBox::currentIndexChanged, this, &LabForm::fillFlavors);
    for (QComboBox* box : {schedule_.flavor, sends_, streams_, communicators_, receives_})
        connect(box, &QComboBox::currentIndexChanged, this, &LabForm::change);
    filling_ = false;
    fillFlavors();
}

bool LabForm::eventFilter(QObject* watched, QEvent* event) {
    const bool done = QScrollArea::eventFilter(watched, event);
    // As wide as its fields, so that they never scroll sideways; also when more of them are shown.
    if (watched == widget() && event->type() == QEvent::LayoutRequest)
        setMinimumWidth(widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width());
    return done;
}

void LabForm::addBelow(QWidget& widget) {
    static_cast<QVBoxLayout*>(this->widget()->layout())->addWidget(&widget);
}

void LabForm::addSizes(QFormLayout& form) {
    schedule_ = ScheduleFields::addTo(form, "explorer");
    limits_ = new QLabel(form.parentWidget());
    limits_->setWordWrap(true);
    form.addRow(limits_);
    const FormFields fields{form, [this] { change(); }};
    pp_ = fields.count("explorerPp", tr("Ranks p"), 1, 512, 4);
    microbatches_ = fields.count("explorerMicrobatches", tr("Micro-batches m"), 1, 4096, 8);
    vpp_ = fields.count("explorerVpp", tr("Chunks per rank v"), 1, 64, 1);
    memory_limit_ = new ListField(form, "explorerMemory", tr("Activation limit"), parseCount, themes_);
    memory_limit_->setPlaceholder(tr("default"));
    memory_limit_->setToolTip(
        tr("Maximum number of activations that a rank holds, counted in forward ops of one chunk: one number for all "
           "ranks, or one per rank. Used only by some schedules and by the search."));
}

void LabForm::addTimes(QFormLayout& form) {
    const auto add = [&](const char* name, const QString& label) {
        auto* const field = new ListField(form, name, label, parseMilliseconds, themes_);
        field->setToolTip(tr("Time of one op of a chunk, in ms or with a unit: one for all stages, or one per stage, "
                             "such as 5, 5, 5, 8"));
        field->setText(QStringLiteral("5"));
        return field;
    };
    forward_ = add("explorerForward", tr("Forward"));
    input_grad_ = add("explorerInputGrad", tr("Backward, input"));
    weight_grad_ = add("explorerWeightGrad", tr("Backward, weights"));
    auto* const from = named(new QPushButton(tr("&Import times…"), form.parentWidget()), "explorerTake");
    auto* const menu = new QMenu(from);
    QAction* const trace = menu->addAction(tr("From the open trace"));
    trace->setObjectName(QStringLiteral("explorerFromTrace"));
    connect(trace, &QAction::triggered, this, [this] {
        const auto [session, step] = open_();
        startFrom(*session, step);
    });
    QAction* const file = menu->addAction(tr("From a file…"));
    file->setObjectName(QStringLiteral("explorerFromFile"));
    connect(file, &QAction::triggered, this, &LabForm::chooseFile);
    connect(menu, &QMenu::aboutToShow, this, [this, trace] {
        const SessionPtr session = open_ ? open_().first : nullptr;
        trace->setEnabled(session && session->hasSteps());
    });
    from->setMenu(menu);
    form.addRow(QString(), from);
}

void LabForm::addTransfers(QFormLayout& form) {
    comm_ = new ListField(form, "explorerComm", tr("Transfer"), parseMilliseconds, themes_);
    comm_->setText(QStringLiteral("0"));
    comm_->setToolTip(tr("Latency of a transfer between two ranks, in ms or with a unit"));
    auto* const more = named(new QToolButton(form.parentWidget()), "explorerTransfers");
    more->setText(tr("More transfer settings"));
    more->setCheckable(true);
    more->setAutoRaise(true);
    more->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    more->setArrowType(Qt::RightArrow);
    form.addRow(QString(), more);
    bytes_ = new ListField(form, "explorerBytes", tr("Bytes per transfer"), parseBytes, themes_);
    bytes_->setPlaceholder(QStringLiteral("16MiB"));
    bandwidth_ = new ListField(form, "explorerBandwidth", tr("Bandwidth"), parseBandwidth, themes_);
    bandwidth_->setPlaceholder(QStringLiteral("50GB/s"));
    sends_ = addChoice(form, "explorerSends", tr("Sends"));
    sends_->addItem(tr("do not block the sender"), static_cast<int>(SendMode::Asynchronous));
    sends_->addItem(tr("block, one after another"), static_cast<int>(SendMode::Blocking));
    sends_->addItem(tr("block, paired with a receive"), static_cast<int>(SendMode::Paired));
    sends_->addItem(tr("block, batched between two ops"), static_cast<int>(SendMode::Batched));
    streams_ = addChoice(form, "explorerStreams", tr("Queues"));
    streams_->addItem(tr("none: transfers never wait"), static_cast<int>(CommStreams::Unlimited));
    streams_->addItem(tr("one per rank and direction"), static_cast<int>(CommStreams::PerDirection));
    streams_->addItem(tr("one per link"), static_cast<int>(CommStreams::PerLink));
    streams_->addItem(tr("one per rank"), static_cast<int>(CommStreams::PerRank));
    communicators_ = addChoice(form, "explorerCommunicators", tr("Communicators"));
    communicators_->addItem(tr("not modelled"), -1);
    communicators_->addItem(tr("one for all"), static_cast<int>(CommunicatorKind::One));
    communicators_->addItem(tr("one per direction"), static_cast<int>(CommunicatorKind::Direction));
    communicators_->addItem(tr("one per pair of ranks"), static_cast<int>(CommunicatorKind::Pair));
    communicators_->addItem(tr("one per directed edge"), static_cast<int>(CommunicatorKind::Edge));
    communicators_->setToolTip(
        tr("Simulates the sends and receives of PyTorch's runtime, which are queued per communicator, and checks "
           "whether they can hang. Overrides the settings for sends and queues."));
    receives_ = addChoice(form, "explorerReceives", tr("Receives"));
    receives_->addItem(tr("posted early"), false);
    receives_->addItem(tr("posted just before their op"), true);
    const auto show = [&form, this](bool on) {
        for (QWidget* field :
             std::initializer_list<QWidget*>{bytes_, bandwidth_, sends_, streams_, communicators_, receives_})
            form.setRowVisible(field, on);
    };
    show(false);
    connect(more, &QToolButton::toggled, this, [show, more](bool on) {
        more->setArrowType(on ? Qt::DownArrow : Qt::RightArrow);
        show(on);
    });
}

void LabForm::change() {
    if (!filling_) emit changed();
}

void LabForm::fillFlavors() {
    const ScheduleFamily* const family = schedule_.chosen();
    if (family == nullptr) return;
    schedule_.offerFlavors();
    limits_->setText(tr("%1. Needs %2.")
                         .arg(translatedText(std::string(family->title)), translatedText(std::string(family->limits))));
    fitSizes();
    change();
}

void LabForm::fitSizes() {
    if (filling_) return;
    const ScheduleSpec wanted = sizes();
    if (makeSchedule(wanted).ok()) return;
    const std::optional<ScheduleSpec> near = nearestSizes(wanted);
    if (!near) return;
    QStringList changed;
    const auto set = [&](QSpinBox& box, const QString& name, int value) {
        if (box.value() == value) return;
        changed << QStringLiteral("%1 = %2").arg(name).arg(value);
        box.setValue(value);
    };
    const QScopedValueRollback quiet(filling_, true);
    set(*vpp_, tr("Chunks per rank v"), near->vpp);
    set(*microbatches_, tr("Micro-batches m"), near->microbatches);
    set(*pp_, tr("Ranks p"), near->pp);
    if (!changed.isEmpty())
        limits_->setText(tr("%1 Changed to match: %2.").arg(limits_->text(), changed.join(tr(", "))));
}

ScheduleSpec LabForm::sizes() const {
    ScheduleSpec spec;
    spec.name = schedule_.family->currentText().toStdString();
    spec.flavor = schedule_.flavor->currentText().toStdString();
    spec.pp = pp_->value();
    spec.microbatches = microbatches_->value();
    spec.vpp = vpp_->value();
    return spec;
}

std::optional<LabInput> LabForm::input() {
    LabInput input;
    input.spec = sizes();
    const auto stages = static_cast<std::size_t>(input.spec.pp) * static_cast<std::size_t>(input.spec.vpp);
    // Reads all fields, so that each one shows its error.
    const auto limits = memory_limit_->values(static_cast<std::size_t>(input.spec.pp), ListField::Each::Rank);
    const auto forward = forward_->values(stages, ListField::Each::Stage);
    const auto input_grad = input_grad_->values(stages, ListField::Each::Stage);
    const auto weight_grad = weight_grad_->values(stages, ListField::Each::Stage);
    const auto comm = comm_->values(1, ListField::Each::Rank);
    std::optional<TransferModel> transfers = this->transfers();
    if (!limits || !forward || !input_grad || !weight_grad || !comm || !transfers) return std::nullopt;
    const auto timesAt = [&](std::size_t stage) {
        OpTimes times{at(*forward, stage), TimeNs{0}, at(*input_grad, stage), at(*weight_grad, stage), TimeNs{0}};
        times.backward = times.input_grad + times.weight_grad;
        return times;
    };
    if (std::max({forward->size(), input_grad->size(), weight_grad->size()}) > 1) {
        for (std::size_t stage = 0; stage < stages; ++stage)
            input.stages.push_back(timesAt(stage));
    }
    input.spec.times = input.stages.empty() ? timesAt(0) : meanTimes(input.stages);
    input.spec.comm = at(*comm, 0);
    input.transfers = *std::move(transfers);
    if (const int kind = communicators_->currentData().toInt(); kind >= 0)
        input.communicators = static_cast<CommunicatorKind>(kind);
    input.deferred_receives = receives_->currentData().toBool();
    for (int rank = 0; !limits->empty() && rank < input.spec.pp; ++rank)
        input.activations.push_back(static_cast<int>(at(*limits, static_cast<std::size_t>(rank)).count()));
    if (!input.activations.empty()) input.spec.memory_limit = *std::ranges::min_element(input.activations);
    return input;
}

std::optional<TransferModel> LabForm::transfers() {
    const auto bytes = bytes_->values(1, ListField::Each::Rank);
    const auto bandwidth = bandwidth_->values(1, ListField::Each::Rank);
    if (!bytes || !bandwidth) return std::nullopt;
    TransferModel model;
    model.activation_bytes = only(*bytes);
    model.gradient_bytes = only(*bytes);
    if (!bandwidth->empty()) model.bytes_per_second = only(*bandwidth);
    model.sends = static_cast<SendMode>(sends_->currentData().toInt());
    model.streams = static_cast<CommStreams>(streams_->currentData().toInt());
    return model;
}

void LabForm::setStages(const std::vector<OpTimes>& stages) {
    const auto list = [&](TimeNs OpTimes::*time) {
        std::vector<TimeNs> times;
        for (const OpTimes& stage : stages)
            times.push_back(std::chrono::round<std::chrono::microseconds>(stage.*time));
        return listOfMilliseconds(times);
    };
    forward_->setText(list(&OpTimes::forward));
    input_grad_->setText(list(&OpTimes::input_grad));
    weight_grad_->setText(list(&OpTimes::weight_grad));
}

void LabForm::startFrom(const Session& session, int step) {
    const Schedule& schedule = session.run.schedule;
    {
        const QScopedValueRollback quiet(filling_, true);
        if (schedule_.family->findText(fromUtf8(schedule.name)) >= 0)
            schedule_.family->setCurrentText(fromUtf8(schedule.name));
        if (schedule_.flavor->findText(fromUtf8(schedule.flavor)) >= 0)
            schedule_.flavor->setCurrentText(fromUtf8(schedule.flavor));
        pp_->setValue(schedule.pp);
        microbatches_->setValue(schedule.microbatches);
        vpp_->setValue(schedule.vpp);
        std::vector<OpTimes> stages = timesOfStages(session);
        if (!uneven(stages)) stages = {withHalves(session.analysis(step).typical)};
        setStages(stages);
    }
    change();
}

void LabForm::takeTimes(const QString& file) {
    const Result<std::vector<OpTimes>> stages = readStageTimes(file.toStdString());
    if (!stages.ok()) return emit refused(stages.error());
    {
        const QScopedValueRollback quiet(filling_, true);
        setStages(stages.value());
    }
    change();
}

void LabForm::chooseFile() {
    auto* const dialog = new QFileDialog(this, tr("Stage times"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters({tr("Stage times (*.json *.csv)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::fileSelected, this, &LabForm::takeTimes);
    dialog->open();
}

} // namespace bubblescope::gui
