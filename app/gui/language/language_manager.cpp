#include "app/gui/language/language_manager.h"

#include <QCoreApplication>
#include <QFontDatabase>
#include <QLibraryInfo>
#include <QLocale>

namespace bubblescope::gui {

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

LanguageManager::~LanguageManager() {
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
