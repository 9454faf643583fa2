#include "app/gui/panels/model_dialog.h"

#include "app/gui/language/text.h"
#include "core/cost/devices.h"
#include "core/cost/model_presets.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <limits>

namespace bubblescope::gui {

ModelDialog::ModelDialog(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QDialog(parent), state_(state), preset_(new QComboBox(this)), batch_(new QSpinBox(this)),
      device_(new QComboBox(this)), teraflops_(new QDoubleSpinBox(this)), devices_(new QSpinBox(this)),
      error_(new QLabel(this)) {
    setObjectName(QStringLiteral("modelDialog"));
    setWindowTitle(tr("Model and devices"));
    auto* const intro =
        new QLabel(tr("Describe the model that this run trains. The app then shows its model FLOPs utilisation "
                      "(MFU): the share of the devices' peak FLOP rate that the model uses."),
                   this);
    intro->setWordWrap(true);
    auto* const form = new QFormLayout;
    preset_->setObjectName(QStringLiteral("modelPreset"));
    preset_->addItem(tr("Other: enter its sizes"), QString());
    for (const std::string& name : modelPresetNames())
        preset_->addItem(fromUtf8(name), fromUtf8(name));
    form->addRow(tr("Model"), preset_);
    addSize(*form, "modelLayers", tr("Layers"), &ModelRequest::layers);
    addSize(*form, "modelHidden", tr("Hidden size"), &ModelRequest::hidden);
    addSize(*form, "modelHeads", tr("Attention heads"), &ModelRequest::heads);
    addSize(*form, "modelKvHeads", tr("Key and value heads"), &ModelRequest::kv_heads);
    addSize(*form, "modelFfn", tr("Feed-forward size"), &ModelRequest::ffn);
    addSize(*form, "modelSequence", tr("Tokens per sequence"), &ModelRequest::sequence);
    addSize(*form, "modelVocabulary", tr("Vocabulary size"), &ModelRequest::vocabulary);
    addDevices(*form);
    error_->setObjectName(QStringLiteral("modelError"));
    error_->setWordWrap(true);
    error_->setMinimumHeight(2 * error_->fontMetrics().lineSpacing());
    error_->setPalette(themes.theme().withText(themes.theme().bad));
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    buttons->addButton(tr("Show MFU"), QDialogButtonBox::AcceptRole)->setDefault(true);
    connect(buttons, &QDialogButtonBox::accepted, this, &ModelDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* const column = new QVBoxLayout(this);
    column->addWidget(intro);
    column->addLayout(form);
    column->addWidget(error_);
    column->addStretch(1);
    column->addWidget(buttons);
    resize(460, sizeHint().height());
    connect(preset_, &QComboBox::currentIndexChanged, this, &ModelDialog::showPreset);
    showPreset();
}

void ModelDialog::addSize(QFormLayout& form, const char* name, const QString& label, Size size) {
    auto* const box = new QSpinBox(this);
    box->setObjectName(QString::fromLatin1(name));
    box->setAccessibleName(label);
    box->setRange(0, std::numeric_limits<int>::max());
    box->setValue(static_cast<int>((state_.model().model.*size).value_or(0)));
    form.addRow(label, box);
    sizes_.emplace_back(size, box);
}

void ModelDialog::addDevices(QFormLayout& form) {
    const ModelUseRequest& before = state_.model();
    preset_->setCurrentIndex(std::max(0, preset_->findData(fromUtf8(before.model.preset))));
    batch_->setObjectName(QStringLiteral("modelBatch"));
    batch_->setRange(1, std::numeric_limits<int>::max());
    batch_->setValue(before.global_batch);
    batch_->setToolTip(tr("Sequences per step, over all replicas"));
    form.addRow(tr("Global batch"), batch_);
    device_->setObjectName(QStringLiteral("modelDevice"));
    device_->addItem(tr("As in the trace"), QString());
    for (const DeviceSpec& device : knownDevices())
        device_->addItem(fromUtf8(device.title), fromUtf8(device.name));
    device_->setCurrentIndex(std::max(0, device_->findData(fromUtf8(before.device))));
    form.addRow(tr("Device"), device_);
    teraflops_->setObjectName(QStringLiteral("modelTeraflops"));
    teraflops_->setRange(0, 1e6);
    teraflops_->setSpecialValueText(tr("Set by the device"));
    teraflops_->setSuffix(QStringLiteral(" TFLOP/s"));
    teraflops_->setValue(before.teraflops.value_or(0));
    form.addRow(tr("Peak per device"), teraflops_);
    devices_->setObjectName(QStringLiteral("modelDevices"));
    devices_->setRange(0, 1 << 24);
    devices_->setSpecialValueText(tr("As in the trace"));
    devices_->setValue(before.devices.value_or(0));
    form.addRow(tr("Number of devices"), devices_);
}

/// Shows the values that apply to missing sizes.
void ModelDialog::showPreset() {
    const bool known = !preset_->currentData().toString().isEmpty();
    for (const auto& [size, box] : sizes_) {
        const bool needed = size == &ModelRequest::layers || size == &ModelRequest::hidden ||
                            size == &ModelRequest::heads || size == &ModelRequest::sequence;
        box->setSpecialValueText(known ? tr("As in the model") : needed ? tr("Required") : tr("Default"));
    }
}

ModelUseRequest ModelDialog::request() const {
    ModelUseRequest request;
    request.model.preset = preset_->currentData().toString().toStdString();
    for (const auto& [size, box] : sizes_) {
        if (box->value() > 0) request.model.*size = box->value();
    }
    request.global_batch = batch_->value();
    request.device = device_->currentData().toString().toStdString();
    if (teraflops_->value() > 0) request.teraflops = teraflops_->value();
    if (devices_->value() > 0) request.devices = devices_->value();
    return request;
}

void ModelDialog::accept() {
    const Status set = state_.setModel(request());
    if (set.ok()) return QDialog::accept();
    error_->setText(sentence(errorText(set.error())));
}

} // namespace bubblescope::gui
