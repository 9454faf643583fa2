#include "app/gui/panels/form_fields.h"

#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QSpinBox>

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

} // namespace bubblescope::gui
