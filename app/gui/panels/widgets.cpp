#include "app/gui/panels/widgets.h"

#include <QCoreApplication>
#include <QDockWidget>
#include <QDoubleSpinBox>
#include <QEvent>
#include <QFormLayout>
#include <QSpinBox>
#include <QWidget>

#include <utility>

namespace bubblescope::gui {

namespace {

struct FieldText {
    Q_DECLARE_TR_FUNCTIONS(FormFields)
};

constexpr double kLongestMs = 1e6;

template <class Box>
Box* addBox(const FormFields& fields, const char* name, const QString& label) {
    auto* box = new Box(fields.form.parentWidget());
    box->setObjectName(QString::fromLatin1(name));
    box->setAccessibleName(label);
    fields.form.addRow(label, box);
    return box;
}

} // namespace

QSpinBox* FormFields::count(const char* name, const QString& label, int low, int high, int value) const {
    auto* box = addBox<QSpinBox>(*this, name, label);
    box->setRange(low, high);
    box->setValue(value);
    QObject::connect(box, &QSpinBox::valueChanged, box, changed);
    return box;
}

QDoubleSpinBox* FormFields::time(const char* name, const QString& label, double ms) const {
    auto* box = addBox<QDoubleSpinBox>(*this, name, label);
    box->setDecimals(3);
    box->setRange(0, kLongestMs);
    box->setSuffix(FieldText::tr(" ms"));
    box->setValue(ms);
    QObject::connect(box, &QDoubleSpinBox::valueChanged, box, changed);
    return box;
}

FillWhenSeen::FillWhenSeen(QWidget& panel, std::function<void()> fill)
    : QObject(&panel), panel_(panel), fill_(std::move(fill)) {
    panel_.installEventFilter(this);
}

/// A dock behind another tab is visible by its own word; it lies beside the window.
bool FillWhenSeen::seen() const {
    return panel_.isVisible() && !panel_.visibleRegion().isEmpty();
}

void FillWhenSeen::ask() {
    due_ = true;
    if (seen()) return settle();
    watchDock();
}

void FillWhenSeen::settle() {
    if (!due_) return;
    due_ = false;
    fill_();
}

/// The tab that is chosen tells its dock, not what lies in it.
void FillWhenSeen::watchDock() {
    QDockWidget* found = nullptr;
    for (QWidget* widget = &panel_; widget != nullptr && found == nullptr; widget = widget->parentWidget())
        found = qobject_cast<QDockWidget*>(widget);
    if (found == dock_) return;
    if (dock_) disconnect(dock_, nullptr, this, nullptr);
    dock_ = found;
    if (dock_ == nullptr) return;
    connect(dock_, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible && panel_.isVisible()) settle();
    });
}

bool FillWhenSeen::eventFilter(QObject* watched, QEvent* event) {
    if (watched != &panel_ || !due_) return false;
    if (event->type() == QEvent::Show) settle();
    // However else it came into sight. Not from within: filling changes what is to be painted.
    if (event->type() == QEvent::Paint) QMetaObject::invokeMethod(this, &FillWhenSeen::settle, Qt::QueuedConnection);
    return false;
}

} // namespace bubblescope::gui
