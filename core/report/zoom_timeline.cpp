#include "core/report/zoom_timeline.h"

#include <fmt/format.h>

#include <iterator>
#include <map>

namespace bubblescope::report {
namespace {

/// A JSON string in which nothing can end a script element.
void addText(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || code < 0x20) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
        } else {
            out += c;
        }
    }
    out += '"';
}

template <class List, class Add>
void addList(std::string& out, const List& list, const Add& add) {
    out += '[';
    bool first = true;
    for (const auto& one : list) {
        if (!first) out += ',';
        first = false;
        add(one);
    }
    out += ']';
}

constexpr std::string_view kScript = R"js(
"use strict";
for (const box of document.querySelectorAll(".zoom")) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const style = getComputedStyle(document.body);
  const colour = name => style.getPropertyValue(name).trim() || "#888";
  const time = ns => {
    const size = Math.abs(ns);
    if (size >= 1e9) return (ns / 1e9).toPrecision(4) + " s";
    if (size >= 1e6) return (ns / 1e6).toPrecision(4) + " ms";
    if (size >= 1e3) return (ns / 1e3).toPrecision(4) + " µs";
    return Math.round(ns) + " ns";
  };
  const make = (tag, parent, text) => {
    const element = parent.appendChild(document.createElement(tag));
    if (text) element.textContent = text;
    return element;
  };
  const bar = make("nav", box);
  const chooser = make("select", bar);
  chooser.setAttribute("aria-label", "Step");
  data.steps.forEach((step, i) => { make("option", chooser, step.name).value = i; });
  const button = (text, label, action) => {
    const made = make("button", bar, text);
    made.type = "button";
    made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
  };
  const canvas = document.createElement("canvas");
  button("+", "Zoom in", () => zoom(0.5, 0.5));
  button("−", "Zoom out", () => zoom(2, 0.5));
  button("Fit", "Show the whole step", () => show(0, step.length));
  const range = make("output", bar);
  box.appendChild(canvas);
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", box.dataset.label);
  const tip = make("div", box);
  tip.className = "tip";
  tip.setAttribute("aria-live", "polite");

  const HEAD = 84, AXIS = 22;
  let step = data.steps[0], from = 0, to = step.length, height = 0, hovered = null;
  const width = () => Math.max(1, canvas.clientWidth - HEAD);
  const x = t => HEAD + (t - from) / (to - from) * width();
  // Items are flat: kind, name, start, length.
  const firstIn = (items, t) => {
    let low = 0, high = items.length / 4;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (items[4 * middle + 2] < t) low = middle + 1; else high = middle;
    }
    return low;
  };
  const show = (a, b) => {
    const least = Math.max(10, step.length * 1e-6);
    const length = Math.min(step.length, Math.max(least, b - a));
    from = Math.min(Math.max(0, a), step.length - length);
    to = from + length;
    draw();
  };
  const zoom = (factor, at) => {
    const length = (to - from) * factor, fixed = from + (to - from) * at;
    show(fixed - length * at, fixed + length * (1 - at));
  };
  const drawAxis = (g, bottom) => {
    const raw = (to - from) / Math.max(2, width() / 110);
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    const tick = [1, 2, 5, 10].map(n => n * power).find(n => n >= raw);
    g.fillStyle = colour("--faint");
    g.textAlign = "center";
    for (let t = Math.ceil(from / tick) * tick; t <= to; t += tick) {
      g.fillRect(x(t), bottom, 1, 4);
      g.fillText(time(t), x(t), bottom + 15);
    }
  };
  const drawRow = (g, row, top, lane) => {
    g.fillStyle = colour("--faint");
    g.textAlign = "right";
    if (height >= 10) g.fillText(row.name, HEAD - 8, top + height / 2 + 4);
    const items = row.items;
    let drawn = 0;
    for (let i = Math.max(0, firstIn(items, from - row.longest)); i < items.length / 4; ++i) {
      const start = items[4 * i + 2], length = items[4 * i + 3];
      if (start > to) break;
      if (start + length < from) continue;
      const kind = data.kinds[items[4 * i]];
      const left = Math.max(HEAD, x(start)), right = Math.min(HEAD + width(), x(start + length));
      // Narrow items cover their share of a pixel.
      g.fillStyle = kind.colour;
      g.fillRect(left, top + 1, right - left - (right - left > 3 ? 1 : 0), lane);
      ++drawn;
      const name = data.names[items[4 * i + 1]];
      if (lane < 11 || right - left < 8 + 7 * name.length) continue;
      g.fillStyle = kind.text;
      g.textAlign = "center";
      g.fillText(name, (left + right) / 2, top + lane / 2 + 5);
    }
    return drawn;
  };
  const draw = () => {
    const scale = window.devicePixelRatio || 1;
    height = Math.max(4, Math.min(26, Math.floor(560 / step.rows.length)));
    const total = height * step.rows.length + AXIS;
    canvas.style.height = total + "px";
    canvas.width = Math.round(canvas.clientWidth * scale);
    canvas.height = Math.round(total * scale);
    const g = canvas.getContext("2d");
    g.scale(scale, scale);
    g.font = "11px system-ui, sans-serif";
    let drawn = 0;
    step.rows.forEach((row, i) => { drawn += drawRow(g, row, i * height, height - 2); });
    drawAxis(g, height * step.rows.length);
    if (hovered) {
      g.strokeStyle = colour("--text");
      g.lineWidth = 2;
      g.strokeRect(x(hovered.start), hovered.row * height + 1, x(hovered.start + hovered.length) - x(hovered.start),
                   height - 2);
    }
    range.textContent = time(from) + " – " + time(to);
    canvas.dataset.from = Math.round(from);
    canvas.dataset.to = Math.round(to);
    canvas.dataset.drawn = drawn;
  };
  const itemAt = (px, py) => {
    const at = Math.floor(py / height), row = step.rows[at];
    if (!row || px < HEAD) return null;
    const t = from + (px - HEAD) / width() * (to - from);
    const items = row.items;
    for (let i = Math.min(firstIn(items, t), items.length / 4 - 1); i >= 0; --i) {
      const start = items[4 * i + 2], length = items[4 * i + 3];
      if (start + row.longest < t) break;
      if (start <= t && t <= start + length)
        return {row: at, kind: data.kinds[items[4 * i]].name, name: data.names[items[4 * i + 1]], start, length};
    }
    return null;
  };
  const hover = (px, py) => {
    const item = itemAt(px, py);
    if (item === hovered || (item && hovered && item.start === hovered.start && item.row === hovered.row)) return;
    hovered = item;
    tip.textContent = item ? [item.kind + " " + item.name, step.rows[item.row].name, time(item.length),
                              "starts at " + time(item.start)].join(" · ")
                           : "Zoom with Ctrl+wheel or + and −; pan by dragging or with the arrow keys.";
    draw();
  };
  const choose = index => {
    step = data.steps[index];
    chooser.value = index;
    hovered = null;
    show(0, step.length);
  };
  for (const one of data.steps) {
    for (const row of one.rows) {
      row.longest = 0;
      for (let i = 3; i < row.items.length; i += 4) row.longest = Math.max(row.longest, row.items[i]);
    }
  }
  chooser.addEventListener("change", () => choose(Number(chooser.value)));
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
    event.preventDefault();
    if (event.shiftKey) {
      const shift = (to - from) * Math.sign(event.deltaY || event.deltaX) * 0.1;
      show(from + shift, to + shift);
    } else {
      zoom(event.deltaY < 0 ? 0.8 : 1.25, Math.min(1, Math.max(0, (event.offsetX - HEAD) / width())));
    }
  }, {passive: false});
  let held = null;
  canvas.addEventListener("pointerdown", event => {
    canvas.focus();
    held = {x: event.offsetX, from, to};
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", event => {
    if (!held) return hover(event.offsetX, event.offsetY);
    const shift = (held.x - event.offsetX) / width() * (held.to - held.from);
    show(held.from + shift, held.to + shift);
  });
  canvas.addEventListener("pointerleave", () => hover(-1, -1));
  canvas.addEventListener("dblclick", event => {
    const item = itemAt(event.offsetX, event.offsetY);
    if (item) show(item.start - item.length, item.start + 2 * item.length); else show(0, step.length);
  });
  canvas.addEventListener("keydown", event => {
    const part = (to - from) * 0.2;
    const keys = {"+": () => zoom(0.8, 0.5), "=": () => zoom(0.8, 0.5), "-": () => zoom(1.25, 0.5),
                  "0": () => show(0, step.length), "Home": () => show(0, step.length),
                  "ArrowLeft": () => show(from - part, to - part), "ArrowRight": () => show(from + part, to + part)};
    if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  choose(0);
  hover(-2, -2);
  tip.textContent = "Zoom with Ctrl+wheel or + and −; pan by dragging or with the arrow keys.";
}
)js";

} // namespace

std::string zoomData(const ZoomTimeline& timeline) {
    std::map<std::string, std::size_t> known;
    std::vector<std::string> names;
    std::string out = "{\"kinds\":";
    addList(out, timeline.kinds, [&](const ZoomTimeline::Kind& kind) {
        fmt::format_to(std::back_inserter(out), R"({{"name":"{}","colour":"{}","text":"{}"}})", kind.name, kind.colour,
                       kind.text);
    });
    out += ",\"steps\":";
    addList(out, timeline.steps, [&](const ZoomTimeline::Step& step) {
        out += "{\"name\":";
        addText(out, step.name);
        fmt::format_to(std::back_inserter(out), ",\"length\":{},\"rows\":", step.length.count());
        addList(out, step.rows, [&](const ZoomTimeline::Row& row) {
            out += "{\"name\":";
            addText(out, row.name);
            out += ",\"items\":";
            addList(out, row.items, [&](const ZoomTimeline::Item& item) {
                const auto [entry, added] = known.try_emplace(item.name, names.size());
                if (added) names.push_back(item.name);
                fmt::format_to(std::back_inserter(out), "{},{},{},{}", item.kind, entry->second, item.start.count(),
                               item.length.count());
            });
            out += '}';
        });
        out += '}';
    });
    out += ",\"names\":";
    addList(out, names, [&](const std::string& name) { addText(out, name); });
    return out + '}';
}

std::string_view zoomScript() {
    return kScript;
}

} // namespace bubblescope::report
