#include "app/gui/export_view.h"

#include "app/gui/panels/summary_bar.h"
#include "app/gui/svg_device.h"
#include "app/gui/theme/theme.h"
#include "app/gui/tikz_device.h"
#include "app/gui/timeline/timeline_view.h"
#include "core/formats/source/replacing_file.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QMarginsF>
#include <QPainter>
#include <QPdfWriter>
#include <QRegularExpression>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kPngScale = 2;
constexpr int kHighestFigure = 4000; ///< pixels
constexpr int kPdfResolution = 96;   ///< one pixel of the screen is one pixel of the page

constexpr int kMargin = 12;

/// Sizes of the parts around the timeline, and of the complete picture.
struct PictureLayout {
    int header = 0;
    int footer = 0;
    QSize whole;
};

QFont pictureTitleFont(const QFont& font) {
    QFont title = font;
    title.setBold(true);
    return title;
}

PictureLayout layoutOf(const TimelineView& view, const PictureFrame& frame) {
    PictureLayout layout;
    const QSize inner = view.viewport()->size();
    if (frame.theme != nullptr) {
        layout.header =
            QFontMetrics(pictureTitleFont(view.font())).height() + QFontMetrics(view.font()).height() + kMargin;
        if (frame.legend != nullptr) layout.footer = frame.legend->sizeHint().height() + kMargin;
    }
    layout.whole = {inner.width(), inner.height() + layout.header + layout.footer};
    return layout;
}

void drawPicture(QPainter& painter, TimelineView& view, const PictureFrame& frame) {
    const PictureLayout layout = layoutOf(view, frame);
    if (frame.theme != nullptr) {
        painter.fillRect(QRect(QPoint(0, 0), layout.whole), frame.theme->header);
        const int width = layout.whole.width() - 2 * kMargin;
        const auto line = [&](const QFont& font, const QColor& colour, int top, const QString& text) {
            const QFontMetrics metrics(font);
            painter.setFont(font);
            painter.setPen(colour);
            painter.drawText(QRect(kMargin, top, width, metrics.height()), Qt::AlignLeft | Qt::AlignVCenter,
                             metrics.elidedText(text, Qt::ElideRight, width));
            return top + metrics.height();
        };
        const int next = line(pictureTitleFont(view.font()), frame.theme->text, kMargin / 2, frame.title);
        line(view.font(), frame.theme->text_dim, next, frame.subtitle);
        if (frame.legend != nullptr) {
            painter.save();
            painter.setFont(view.font());
            painter.translate(kMargin, layout.whole.height() - layout.footer + kMargin / 2);
            frame.legend->draw(painter);
            painter.restore();
        }
    }
    painter.translate(0, layout.header);
    painter.setClipRect(view.viewport()->rect());
    view.draw(painter);
}

QByteArray asPng(TimelineView& view, const PictureFrame& frame) {
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    pictureOf(view, frame).save(&buffer, "PNG");
    return out;
}

QByteArray asPdf(TimelineView& view, const PictureFrame& frame) {
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setResolution(kPdfResolution);
    writer.setPageSize(QPageSize(QSizeF(layoutOf(view, frame).whole) * 72.0 / kPdfResolution, QPageSize::Point));
    writer.setPageMargins(QMarginsF());
    writer.setTitle(frame.title.isEmpty() ? QStringLiteral("Bubblescope") : frame.title);
    QPainter painter(&writer);
    drawPicture(painter, view, frame);
    painter.end();
    return out;
}

QByteArray asSvg(TimelineView& view, const PictureFrame& frame) {
    SvgDevice device(layoutOf(view, frame).whole);
    QPainter painter(&device);
    drawPicture(painter, view, frame);
    painter.end();
    return device.takeDocument();
}

/// Returns nothing if the view contains bitmaps, which dense rows need.
QByteArray asTikz(TimelineView& view, const PictureFrame& frame) {
    TikzDevice device(layoutOf(view, frame).whole);
    QPainter painter(&device);
    drawPicture(painter, view, frame);
    painter.end();
    return device.hasBitmaps() ? QByteArray() : device.takeDocument();
}

} // namespace

QImage pictureOf(TimelineView& view, const PictureFrame& frame) {
    QImage image((QSizeF(layoutOf(view, frame).whole) * kPngScale).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(kPngScale);
    QPainter painter(&image);
    drawPicture(painter, view, frame);
    return image;
}

QString suggestedPictureName(const QString& trace, std::optional<int> step) {
    QString name = trace.section(QLatin1Char('.'), 0, 0);
    static const QRegularExpression odd(QStringLiteral("[^\\w-]+"), QRegularExpression::UseUnicodePropertiesOption);
    name.replace(odd, QStringLiteral("-"));
    if (name.isEmpty()) name = QStringLiteral("timeline");
    return step ? QStringLiteral("%1-step-%2.png").arg(name).arg(*step) : name + QStringLiteral(".png");
}

Status exportView(TimelineView& view, const QString& name, const PictureFrame& frame) {
    const QString ending = QFileInfo(name).suffix().toLower();
    QByteArray bytes;
    if (ending == QLatin1String("png")) {
        bytes = asPng(view, frame);
    } else if (ending == QLatin1String("pdf")) {
        bytes = asPdf(view, frame);
    } else if (ending == QLatin1String("svg")) {
        bytes = asSvg(view, frame);
    } else if (ending == QLatin1String("tex") || ending == QLatin1String("tikz")) {
        bytes = asTikz(view, frame);
        if (bytes.isEmpty())
            return usageError("TikZ does not support rows drawn pixel by pixel",
                              "zoom in, show fewer rows, or choose PDF");
    } else {
        return usageError(fmt::format("the picture format cannot be determined from '{}'", name.toStdString()),
                          "end the file's name with .png, .svg, .pdf or .tex");
    }
    if (bytes.isEmpty()) return runError(fmt::format("cannot write {}", name.toStdString()), "choose a smaller size");
    ReplacingFile file(name.toStdString());
    file.write({bytes.data(), static_cast<std::size_t>(bytes.size())});
    return file.commit();
}

namespace {

/// Returns the visible part without the selection.
ViewSnapshot forFigure(ViewSnapshot shown) {
    shown.selection = {};
    shown.measured = {};
    shown.measured_tracks.clear();
    shown.highlights.clear();
    return shown;
}

} // namespace

Status exportFigure(const ViewState& shown, const Theme& theme, const Figure& figure, const QString& file) {
    ThemeManager themes(figure.white ? figureTheme() : theme);
    ViewState state;
    state.restore(shown.session(), forFigure(shown.snapshot()));
    TimelineView view(state, themes);
    view.setAttribute(Qt::WA_DontShowOnScreen);
    view.resize(static_cast<int>(std::lround(figure.width_mm * PageDevice::kDpi / PageDevice::kMillimetresPerInch)),
                view.sizeHint().height());
    view.show(); // performs the layout
    view.resize(view.width(), std::min(view.heightOfAll(), kHighestFigure));
    Legend legend(themes);
    legend.show(state.pipeline().get());
    PictureFrame frame{figure.title, figure.subtitle, nullptr, &themes.theme()};
    if (figure.legend && state.pipeline()) frame.legend = &legend;
    return exportView(view, file, frame);
}

} // namespace bubblescope::gui
