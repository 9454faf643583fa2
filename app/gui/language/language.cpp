#include "app/gui/language/language.h"

#include <QCoreApplication>
#include <QFile>
#include <QFontDatabase>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLibraryInfo>
#include <QLocale>

/// The resources of a static library are linked only if they are referenced. This must be outside all namespaces, as Qt
/// requires.
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

QString PluralTranslator::translate(const char*, const char* source, const char*, int n) const {
    if (n < 0 || qstrlen(source) == 0) return {};
    const QString text = QString::fromUtf8(source);
    return text.contains(QLatin1String("(s)"))
               ? QString(text).replace(QLatin1String("(s)"), n == 1 ? QString() : QStringLiteral("s"))
               : QString();
}

QString languageKey(Language language) {
    switch (language) {
    case Language::System: return QStringLiteral("system");
    case Language::English: return QStringLiteral("en");
    case Language::Chinese: break;
    }
    return QStringLiteral("zh_CN");
}

std::optional<Language> languageFromKey(const QString& key) {
    for (const Language language : {Language::System, Language::English, Language::Chinese}) {
        if (languageKey(language) == key) return language;
    }
    return std::nullopt;
}

LanguageManager::LanguageManager(QObject* parent) : QObject(parent) {
    QCoreApplication::installTranslator(&plurals_);
}

LanguageManager::~LanguageManager() {
    QCoreApplication::removeTranslator(&plurals_);
    QCoreApplication::removeTranslator(&table_);
    QCoreApplication::removeTranslator(&qt_);
}

void LanguageManager::choose(Language language) {
    choice_ = language;
    const bool chinese = language == Language::Chinese ||
                         (language == Language::System && QLocale::system().language() == QLocale::Chinese);
    const Language next = chinese ? Language::Chinese : Language::English;
    if (next == current_) return;
    current_ = next;
    QCoreApplication::removeTranslator(&table_);
    QCoreApplication::removeTranslator(&qt_);
    if (chinese && table_.loadTable(languageKey(Language::Chinese))) {
        const bool found = qt_.load(QStringLiteral("qtbase_zh_CN"), QLibraryInfo::path(QLibraryInfo::TranslationsPath));
        if (found) QCoreApplication::installTranslator(&qt_);
        QCoreApplication::installTranslator(&table_);
    }
    emit changed();
}

bool LanguageManager::hasFont() const {
    return current_ == Language::English || !QFontDatabase::families(QFontDatabase::SimplifiedChinese).isEmpty();
}

} // namespace bubblescope::gui
