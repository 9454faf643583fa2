#include "core/report/plot/canvas.h"

#include "core/base/text.h"
#include "core/report/svg/document.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <iterator>

namespace bubblescope::plot {
namespace {

using svg::number;

constexpr std::string_view kGround = "#ffffff";

std::string anchorName(Anchor anchor) {
    return anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
}

std::string pointList(const std::vector<Point>& points) {
    std::string list;
    for (const Point& each : points)
        list += fmt::format("{}{},{}", list.empty() ? "" : " ", number(each.x), number(each.y));
    return list;
}

void addSvg(svg::Document& out, const Mark& mark) {
    if (mark.kind == Mark::Kind::Shape) {
        out.empty("polygon", fmt::format(R"(points="{}" fill="{}")", pointList(mark.points), mark.colour));
    } else if (mark.kind == Mark::Kind::Line) {
        std::string dashes;
        for (const double each : mark.dashes)
            dashes += (dashes.empty() ? "" : " ") + number(each);
        out.empty("polyline", fmt::format(R"(points="{}" fill="none" stroke="{}" stroke-width="{}"{})",
                                          pointList(mark.points), mark.colour, number(mark.size),
                                          dashes.empty() ? "" : fmt::format(R"( stroke-dasharray="{}")", dashes)));
    } else {
        const Point& at = mark.points.front();
        const std::string turned = mark.upwards
                                       ? fmt::format(R"x( transform="rotate(-90 {} {})")x", number(at.x), number(at.y))
                                       : std::string();
        out.text(at.x, at.y, mark.text,
                 fmt::format(R"(fill="{}" font-size="{}" text-anchor="{}"{})", mark.colour, number(mark.size),
                             anchorName(mark.anchor), turned));
    }
}

/// Widths of Helvetica's letters from ' ' to '~', in thousandths of their size: Adobe's font metrics.
constexpr std::array<int, 95> kHelvetica{
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

/// Converts text to Latin-1, which PDF's standard fonts support.
std::string latin(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const char32_t code = takeCodePoint(text);
        out += code < 0x100 ? static_cast<char>(code) : '?';
    }
    return out;
}

double helveticaWidth(std::string_view latin_text, double size) {
    int sum = 0;
    for (const char letter : latin_text)
        sum +=
            letter >= ' ' && letter <= '~' ? kHelvetica[static_cast<std::size_t>(letter - ' ')] : kHelvetica['n' - ' '];
    return sum * size / 1000;
}

std::string pdfColour(const std::string& colour) {
    const auto part = [&](std::size_t at) {
        return number(static_cast<double>(std::strtol(colour.substr(at, 2).c_str(), nullptr, 16)) / 255);
    };
    return fmt::format("{} {} {}", part(1), part(3), part(5));
}

std::string pdfString(std::string_view latin_text) {
    std::string out;
    for (const char letter : latin_text) {
        if (letter == '(' || letter == ')' || letter == '\\') out += '\\';
        out += letter;
    }
    return out;
}

/// PDF's y axis points upwards.
std::string pdfPath(const std::vector<Point>& points, double height) {
    std::string path;
    for (const Point& each : points)
        path += fmt::format("{} {} {} ", number(each.x), number(height - each.y), path.empty() ? "m" : "l");
    return path;
}

void addPdf(std::string& out, const Mark& mark, double height) {
    const std::string colour = pdfColour(mark.colour);
    if (mark.kind == Mark::Kind::Shape) {
        out += fmt::format("{} rg {}h f\n", colour, pdfPath(mark.points, height));
    } else if (mark.kind == Mark::Kind::Line) {
        std::string dashes;
        for (const double each : mark.dashes)
            dashes += number(each) + " ";
        out +=
            fmt::format("{} RG {} w [{}] 0 d {}S\n", colour, number(mark.size), dashes, pdfPath(mark.points, height));
    } else {
        const std::string text = latin(mark.text);
        const double width = helveticaWidth(text, mark.size);
        const double before = mark.anchor == Anchor::Start ? 0 : mark.anchor == Anchor::Middle ? width / 2 : width;
        const Point& at = mark.points.front();
        const std::string place = mark.upwards
                                      ? fmt::format("0 1 -1 0 {} {}", number(at.x), number(height - at.y - before))
                                      : fmt::format("1 0 0 1 {} {}", number(at.x - before), number(height - at.y));
        out += fmt::format("BT {} rg /F1 {} Tf {} Tm ({}) Tj ET\n", colour, number(mark.size), place, pdfString(text));
    }
}

} // namespace

void Canvas::line(std::vector<Point> points, std::string_view colour, double line_width, std::vector<double> dashes) {
    marks.push_back({.kind = Mark::Kind::Line,
                     .points = std::move(points),
                     .colour = std::string(colour),
                     .size = line_width,
                     .dashes = std::move(dashes)});
}

void Canvas::shape(std::vector<Point> points, std::string_view colour) {
    marks.push_back({.kind = Mark::Kind::Shape, .points = std::move(points), .colour = std::string(colour)});
}

void Canvas::text(Point at, std::string_view letters, std::string_view colour, double size, Anchor anchor,
                  bool upwards) {
    marks.push_back({.kind = Mark::Kind::Text,
                     .points = {at},
                     .colour = std::string(colour),
                     .size = size,
                     .text = std::string(letters),
                     .anchor = anchor,
                     .upwards = upwards});
}

std::string toSvg(const Canvas& canvas) {
    svg::Document out;
    const std::string width = number(canvas.width);
    const std::string height = number(canvas.height);
    out.open("svg",
             fmt::format(
                 R"(xmlns="http://www.w3.org/2000/svg" stroke="none" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
                 R"(font-family="{2}")",
                 width, height, svg::kFonts));
    out.filled("title", canvas.title);
    out.rect({0, 0, canvas.width, canvas.height}, {}, fmt::format(R"(fill="{}")", kGround));
    for (const Mark& mark : canvas.marks)
        addSvg(out, mark);
    out.close("svg");
    return out.take();
}

std::string toPdf(const Canvas& canvas) {
    std::string content;
    addPdf(content,
           {.kind = Mark::Kind::Shape,
            .points = {{0, 0}, {canvas.width, 0}, {canvas.width, canvas.height}, {0, canvas.height}},
            .colour = std::string(kGround)},
           canvas.height);
    for (const Mark& mark : canvas.marks)
        addPdf(content, mark, canvas.height);
    const std::array<std::string, 6> objects{
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        fmt::format("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources << /Font << /F1 5 0 "
                    "R >> >> >>",
                    number(canvas.width), number(canvas.height)),
        fmt::format("<< /Length {} >>\nstream\n{}endstream", content.size(), content),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        fmt::format("<< /Title ({}) /Producer (Bubblescope) >>", pdfString(latin(canvas.title)))};
    std::string out = "%PDF-1.4\n%\xE2\xE3\xCF\xD3\n";
    std::string places;
    for (std::size_t i = 0; i < objects.size(); ++i) {
        places += fmt::format("{:010} 00000 n \n", out.size());
        out += fmt::format("{} 0 obj\n{}\nendobj\n", i + 1, objects[i]);
    }
    const std::size_t table = out.size();
    out += fmt::format("xref\n0 {0}\n0000000000 65535 f \n{1}trailer\n<< /Size {0} /Root 1 0 R /Info 6 0 R "
                       ">>\nstartxref\n{2}\n%%EOF\n",
                       objects.size() + 1, places, table);
    return out;
}

} // namespace bubblescope::plot
