"""Plots as SVG: a grid of small bar charts, one for each step, that can be read on light and dark ground."""

from xml.sax.saxutils import escape

WIDTH, MARGIN, COLUMNS, GAP = 880, 20, 3, 24
ROW, BAR, HEAD = 19, 13, 30
# What each takes of a chart's width, in pixels.
NAMES, VALUES = 104, 46

STYLE = """
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
  .ground { fill: #ffffff } .title { font-size: 17px; font-weight: 600 } .note { fill: #59636e }
  .head { font-size: 13px; font-weight: 600 } .ours { font-weight: 700 } .fails { fill: #b3261e }
  .bar { fill: #b3bcc6 } .bar-native { fill: #6e7781 } .bar-ours { fill: #0969da }
  .line { stroke: #6e7781; stroke-width: 1; stroke-dasharray: 2 2 }
"""
DARK = """
    text { fill: #e6edf3 } .ground { fill: #0d1117 } .note { fill: #9198a1 } .fails { fill: #ff8a80 }
    .bar { fill: #4d5763 } .bar-native { fill: #8b949e } .bar-ours { fill: #4493f8 } .line { stroke: #8b949e }
"""


def shown(ratio):
    """A ratio in few digits, with a thin space before the sign."""
    digits = "1" if ratio == 1 else f"{ratio:.2f}" if ratio < 1.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"
    return f"{digits} ×"


def grid(title, note, charts):
    """An SVG of `charts`: (heading, [(name, ratio or None, kind)]), of which kind is `native`, `ours` or `peer`.

    Each chart has its own scale, from nothing to its longest bar; a dashed line marks 1, the bare filesystem. Shorter is better.
    """
    wide = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS
    parts, top = [], 78
    for first in range(0, len(charts), COLUMNS):
        line = charts[first:first + COLUMNS]
        for place, (heading, bars) in enumerate(line):
            parts += chart(MARGIN + place * (wide + GAP), top, wide, heading, bars)
        top += HEAD + ROW * max(len(bars) for _, bars in line) + 18
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}  @media (prefers-color-scheme: dark) {{{DARK}  }}\n</style>",
        f'<rect class="ground" width="{WIDTH}" height="{top}" rx="8"/>',
        f'<text class="title" x="{MARGIN}" y="32">{escape(title)}</text>',
        f'<text class="note" x="{MARGIN}" y="54">{escape(note)}</text>',
        *parts,
        "</svg>",
        "",
    ])


def chart(left, top, wide, heading, bars):
    longest = max([ratio for _, ratio, _ in bars if ratio is not None] + [1.0])
    scale = (wide - NAMES - VALUES) / longest
    start = left + NAMES
    parts = [f'<text class="head" x="{left:.1f}" y="{top + 14}">{escape(heading)}</text>']
    for number, (name, ratio, kind) in enumerate(bars):
        y = top + HEAD + number * ROW - 4
        mark = ' class="ours"' if kind == "ours" else ""
        parts.append(f'<text{mark} x="{start - 6:.1f}" y="{y + 11}" text-anchor="end">{escape(name)}</text>')
        if ratio is None:
            parts.append(f'<text class="fails" x="{start + 4:.1f}" y="{y + 11}">fails</text>')
            continue
        length = max(ratio * scale, 1.0)
        style = {"ours": "bar-ours", "native": "bar-native"}.get(kind, "bar")
        parts.append(f'<rect class="{style}" x="{start:.1f}" y="{y}" width="{length:.1f}" height="{BAR}" rx="1.5"/>')
        parts.append(f'<text{mark} x="{start + length + 5:.1f}" y="{y + 11}">{shown(ratio)}</text>')
    # The mark of the bare filesystem, over the bars and not through the values.
    at, bottom = start + scale, top + HEAD - 6 + len(bars) * ROW
    pieces, y = [], top + HEAD - 8
    for number, (_, ratio, _) in enumerate(bars):
        end = top + HEAD - 4 + number * ROW + BAR
        if ratio is not None and ratio >= 1.02:
            pieces.append((y, end))
        y = end
    for begin, end in pieces:
        parts.append(f'<line class="line" x1="{at:.1f}" y1="{begin}" x2="{at:.1f}" y2="{min(end, bottom)}"/>')
    return parts
