#include "app/gui/language/translator.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>

/// Resources of a static library are linked in only where somebody asks for them. Outside all namespaces, as Qt wants.
static void linkTranslations() {
    Q_INIT_RESOURCE(translations);
}

namespace bubblescope::gui {

namespace {

QJsonObject tableOf(const QString& language) {
    linkTranslations();
    QFile file(QStringLiteral(":/translations/%1.json").arg(language));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

} // namespace

bool TableTranslator::loadTable(const QString& language) {
    texts_.clear();
    const QJsonObject table = tableOf(language);
    for (auto text = table.begin(); text != table.end(); ++text)
        texts_.insert(text.key().toUtf8(), text.value().toString());
    return !texts_.isEmpty();
}

QList<QByteArray> TableTranslator::textsOf(const QString& language) {
    QList<QByteArray> texts;
    for (const QString& text : tableOf(language).keys())
        texts << text.toUtf8();
    return texts;
}

QString TableTranslator::translate(const char*, const char* source, const char*, int) const {
    return texts_.value(QByteArray::fromRawData(source, static_cast<qsizetype>(qstrlen(source))));
}

} // namespace bubblescope::gui
