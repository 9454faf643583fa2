#include "app/gui/panels/schedule_fields.h"

#include "app/gui/language/text.h"

#include <QComboBox>
#include <QFormLayout>
#include <QSignalBlocker>

namespace bubblescope::gui {

ScheduleFields ScheduleFields::addTo(QFormLayout& form, const char* prefix) {
    const auto add = [&](const char* name, const QString& label) {
        auto* box = new QComboBox(form.parentWidget());
        box->setObjectName(QString::fromLatin1(prefix) + QString::fromLatin1(name));
        box->setAccessibleName(label);
        form.addRow(label, box);
        return box;
    };
    const ScheduleFields fields{add("Family", tr("Schedule")), add("Flavor", tr("Flavor"))};
    for (const ScheduleFamily& family : scheduleFamilies())
        fields.family->addItem(fromUtf8(family.name));
    fields.family->setCurrentText(QStringLiteral("1f1b"));
    return fields;
}

const ScheduleFamily* ScheduleFields::chosen() const {
    return findScheduleFamily(family->currentText().toStdString());
}

void ScheduleFields::offerFlavors() const {
    const ScheduleFamily* const of = chosen();
    if (of == nullptr) return;
    const QSignalBlocker quiet(flavor);
    flavor->clear();
    for (const std::string_view name : of->flavors)
        flavor->addItem(fromUtf8(name));
    flavor->setEnabled(flavor->count() > 1);
}

} // namespace bubblescope::gui
