#include "tests/gui/page_structure.h"

#include <QRegularExpression>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

/// Cells of a table row; a bar after a backslash belongs to the cell.
int cellsOf(const QString& line) {
    static const QRegularExpression bar(QStringLiteral("(?<!\\\\)\\|"));
    return static_cast<int>(line.count(bar)) - 1;
}

class PageParser {
public:
    PageStructure parse(const QString& markdown) {
        page_.sections.emplace_back();
        for (const QString& line : markdown.split(QLatin1Char('\n')))
            take(line);
        endParagraph();
        for (PageStructure::Section& section : page_.sections) {
            section.links.sort();
            section.images.sort();
        }
        page_.codes.removeDuplicates();
        page_.codes.sort();
        return page_;
    }

private:
    void take(const QString& line) {
        const bool fence = line.trimmed().startsWith(QLatin1String("```"));
        const bool indented = paragraph_.isEmpty() && line.startsWith(QLatin1String("    "));
        if (fenced_ || fence || indented) {
            endParagraph();
            if (!fenced_) page_.blocks << QString();
            page_.blocks.back() += line + QLatin1Char('\n');
            if (fence) fenced_ = !fenced_;
            table_ = false;
            return;
        }
        if (line.startsWith(QLatin1String("<!--"))) page_.marks << line;
        const bool row = line.startsWith(QLatin1Char('|'));
        if (row && !table_) {
            page_.columns.push_back(cellsOf(line));
            page_.table_rows.push_back(0);
        }
        table_ = row;
        if (row) ++page_.table_rows.back();
        static const QRegularExpression heading(QStringLiteral("^(#+)\\s+(.+)$"));
        const auto match = heading.match(line);
        if (row || match.hasMatch() || line.trimmed().isEmpty()) endParagraph();
        if (match.hasMatch()) {
            page_.sections.emplace_back();
            page_.sections.back().level = static_cast<int>(match.capturedLength(1));
            page_.sections.back().title = match.captured(2);
        }
        if (line.trimmed().isEmpty()) return;
        paragraph_ += (paragraph_.isEmpty() ? QString() : QStringLiteral(" ")) + line.trimmed();
    }

    /// Scans the lines of a paragraph together, since code and links may span lines.
    void endParagraph() {
        static const QRegularExpression code(QStringLiteral("`([^`]+)`"));
        static const QRegularExpression link(QStringLiteral("(!?)\\[[^\\]]*\\]\\(([^)\\s]+)\\)"));
        QString line = std::exchange(paragraph_, {});
        for (auto found = code.globalMatch(line); found.hasNext();)
            page_.codes << found.next().captured(1);
        line.remove(code);
        for (auto found = link.globalMatch(line); found.hasNext();) {
            const auto match = found.next();
            PageStructure::Section& section = page_.sections.back();
            (match.captured(1).isEmpty() ? section.links : section.images) << match.captured(2);
        }
    }

    PageStructure page_;
    QString paragraph_;
    bool fenced_ = false;
    bool table_ = false;
};

template <typename List>
void compareLists(const List& english, const List& chinese, const QString& what, QStringList& out) {
    if (english == chinese) return;
    const auto [left, right] = std::mismatch(english.begin(), english.end(), chinese.begin(), chinese.end());
    const auto shown = [](const auto& at, const List& list) {
        if (at == list.end()) return QStringLiteral("nothing");
        if constexpr (std::is_same_v<List, QStringList>) {
            return *at;
        } else {
            return QString::number(*at);
        }
    };
    out << QStringLiteral("%1 %2: %3 in English, %4 in Chinese")
               .arg(what)
               .arg(std::distance(english.begin(), left))
               .arg(shown(left, english), shown(right, chinese));
}

} // namespace

PageStructure pageStructure(const QString& markdown) {
    return PageParser().parse(markdown);
}

QStringList structureDifferences(const QString& english, const QString& chinese) {
    const PageStructure left = pageStructure(english);
    const PageStructure right = pageStructure(chinese);
    const auto levels = [](const PageStructure& page) {
        std::vector<int> out;
        for (const PageStructure::Section& section : page.sections)
            out.push_back(section.level);
        return out;
    };
    QStringList out;
    compareLists(levels(left), levels(right), QStringLiteral("level of heading"), out);
    compareLists(left.blocks, right.blocks, QStringLiteral("code block"), out);
    compareLists(left.marks, right.marks, QStringLiteral("comment"), out);
    compareLists(left.columns, right.columns, QStringLiteral("columns of table"), out);
    compareLists(left.table_rows, right.table_rows, QStringLiteral("rows of table"), out);
    QStringList missing;
    QStringList added;
    std::ranges::set_difference(left.codes, right.codes, std::back_inserter(missing));
    std::ranges::set_difference(right.codes, left.codes, std::back_inserter(added));
    if (!missing.isEmpty()) out << QStringLiteral("only in English: ") + missing.join(QStringLiteral(" ; "));
    if (!added.isEmpty()) out << QStringLiteral("only in Chinese: ") + added.join(QStringLiteral(" ; "));
    return out;
}

} // namespace bubblescope::gui
