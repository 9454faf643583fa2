#pragma once

#include <QHash>
#include <QTranslator>

namespace bubblescope::gui {

/// Translates by a table of English texts and their translations, whatever the class that says them. The tables are
/// JSON files in resources/translations, so that building and running need no Linguist tools.
class TableTranslator : public QTranslator {
    Q_OBJECT

public:
    explicit TableTranslator(QObject* parent = nullptr) : QTranslator(parent) {}

    /// From the program's resources. False where there is no such table, or it is no JSON object of texts.
    bool loadTable(const QString& language);
    /// The English texts of a language's table.
    [[nodiscard]] static QList<QByteArray> textsOf(const QString& language);
    [[nodiscard]] bool isEmpty() const override { return texts_.isEmpty(); }
    [[nodiscard]] QString translate(const char* context, const char* source, const char* disambiguation,
                                    int n) const override;

private:
    QHash<QByteArray, QString> texts_;
};

} // namespace bubblescope::gui
