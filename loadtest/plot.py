"""A line plot as SVG: a logarithmic x axis, one line for each name, labelled at its end."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 860, 460
LEFT, RIGHT, TOP, BOTTOM = 70, 210, 50, 60
# Colours that differ in lightness too (Okabe and Ito's palette).
COLOURS = ["#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#000000", "#999999"]
DASHES = ["", "6 3", "2 3", "8 3 2 3"]


def spread(places, gap):
    """Moves labels apart: places are y coordinates in order; returns new ones at least `gap` apart."""
    out = []
    for place in places:
        out.append(max(place, out[-1] + gap) if out else place)
    over = out[-1] - (HEIGHT - BOTTOM) if out else 0
    if over > 0:
        for index in range(len(out) - 1, -1, -1):
            limit = (out[index + 1] - gap) if index + 1 < len(out) else HEIGHT - BOTTOM
            out[index] = min(out[index], limit)
    return out


class Plot:
    def __init__(self, title, x_title, y_title, x_ticks, y_most, y_step):
        self.title, self.x_title, self.y_title = title, x_title, y_title
        self.x_ticks, self.y_most, self.y_step = x_ticks, y_most, y_step
        self.lines = []

    def add(self, name, points):
        """points: (x, y) in order."""
        self.lines.append((name, points))

    def x(self, value):
        low, high = math.log(self.x_ticks[0]), math.log(self.x_ticks[-1])
        share = (math.log(max(value, 1e-6)) - low) / (high - low)
        return LEFT + (WIDTH - LEFT - RIGHT) * min(1.03, max(-0.03, share))

    def y(self, value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(value, self.y_most) / self.y_most

    def axes(self):
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        for tick in self.x_ticks:
            yield '<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>' % (self.x(tick), TOP, self.x(tick), bottom)
            yield '<text x="%.1f" y="%d" text-anchor="middle">%g</text>' % (self.x(tick), bottom + 20, tick)
        for number in range(int(self.y_most / self.y_step + 1.5)):
            value = number * self.y_step
            if value > self.y_most:
                break
            yield '<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>' % (LEFT, self.y(value), right, self.y(value))
            yield '<text x="%d" y="%.1f" text-anchor="end">%d %%</text>' % (LEFT - 8, self.y(value) + 4, 100 * value + 0.5)
        yield '<path d="M%d %dV%dH%d" fill="none" stroke="#333"/>' % (LEFT, TOP, bottom, right)
        yield '<text x="%d" y="%d" text-anchor="middle">%s</text>' % ((LEFT + right) / 2, HEIGHT - 16, escape(self.x_title))
        yield '<text transform="translate(20 %d) rotate(-90)" text-anchor="middle">%s</text>' % (
            (TOP + bottom) / 2, escape(self.y_title),
        )
        yield '<text x="%d" y="28" font-size="17" font-weight="bold">%s</text>' % (LEFT, escape(self.title))

    def curves(self):
        order = sorted(range(len(self.lines)), key=lambda index: self.y(self.lines[index][1][-1][1]))
        places = dict(zip(order, spread([self.y(self.lines[index][1][-1][1]) for index in order], 17)))
        for index, (name, points) in enumerate(self.lines):
            colour = COLOURS[index % len(COLOURS)]
            path = "L".join("%.1f %.1f" % (self.x(x), self.y(y)) for x, y in points)
            yield '<path d="M%s" fill="none" stroke="%s" stroke-width="2.5" stroke-dasharray="%s"/>' % (
                path, colour, DASHES[index // len(COLOURS) % len(DASHES)],
            )
            for x, y in points:
                yield '<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' % (self.x(x), self.y(y), colour)
            yield '<path d="M%.1f %.1fL%d %.1f" stroke="%s" fill="none" stroke-width="0.7"/>' % (
                self.x(points[-1][0]) + 5, self.y(points[-1][1]), WIDTH - RIGHT + 18, places[index], colour,
            )
            yield '<text x="%d" y="%.1f" fill="%s">%s</text>' % (
                WIDTH - RIGHT + 22, places[index] + 4, colour, escape(name),
            )

    def svg(self):
        head = '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">' % (
            WIDTH, HEIGHT, WIDTH, HEIGHT,
        )
        style = '<g font-family="sans-serif" font-size="13" fill="#333">'
        ground = '<rect width="%d" height="%d" fill="#fff"/>' % (WIDTH, HEIGHT)
        return "\n".join([head, ground, style, *self.axes(), *self.curves(), "</g>", "</svg>"]) + "\n"
