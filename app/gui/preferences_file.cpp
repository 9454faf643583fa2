#include "app/gui/preferences_file.h"

#include <QCoreApplication>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

namespace bubblescope::gui {

namespace {

const QString kBytesKey = QStringLiteral("base64");

QJsonValue toJson(const QVariant& value) {
    if (value.metaType() != QMetaType::fromType<QByteArray>()) return QJsonValue::fromVariant(value);
    return QJsonObject{{kBytesKey, QString::fromLatin1(value.toByteArray().toBase64())}};
}

QVariant fromJson(const QJsonValue& value) {
    if (!value.isObject()) return value.toVariant();
    return QByteArray::fromBase64(value[kBytesKey].toString().toLatin1());
}

bool readPreferences(QIODevice& file, QSettings::SettingsMap& settings) {
    const QJsonDocument document = QJsonDocument::fromJson(file.readAll());
    const QJsonObject values = document.object();
    for (auto value = values.begin(); value != values.end(); ++value)
        settings.insert(value.key(), fromJson(value.value()));
    return document.isObject();
}

bool writePreferences(QIODevice& file, const QSettings::SettingsMap& settings) {
    QJsonObject values;
    for (auto setting = settings.begin(); setting != settings.end(); ++setting)
        values.insert(setting.key(), toJson(setting.value()));
    const QByteArray text = QJsonDocument(values).toJson();
    auto* const buffered = qobject_cast<QFileDevice*>(&file);
    return file.write(text) == text.size() && buffered != nullptr && buffered->flush();
}

} // namespace

QSettings::Format preferencesFormat() {
    static const QSettings::Format format =
        QSettings::registerFormat(QStringLiteral("json"), readPreferences, writePreferences);
    return format;
}

void usePreferencesFile() {
    QSettings earlier(QSettings::NativeFormat, QSettings::UserScope, QCoreApplication::organizationName(),
                      QCoreApplication::applicationName());
    earlier.setFallbacksEnabled(false);
    QSettings::setDefaultFormat(preferencesFormat());
    QSettings settings;
    if (QFile::exists(settings.fileName())) return;
    const QStringList keys = earlier.allKeys();
    for (const QString& key : keys)
        settings.setValue(key, earlier.value(key));
}

} // namespace bubblescope::gui
