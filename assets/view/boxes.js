
/* Boxes as rectangles that may be turned, what a drag makes of them, and colours. */

/* A rectangle about a centre, turned by an angle in radians, clockwise. */
function turnedOf({ bbox: [x, y, w, h], polygon }) {
  if (!polygon) return { cx: x + w / 2, cy: y + h / 2, w, h, angle: 0 };
  const [ax, ay, bx, by, cx, cy, dx, dy] = polygon;
  return {
    cx: (ax + bx + cx + dx) / 4, cy: (ay + by + cy + dy) / 4, w: Math.hypot(bx - ax, by - ay),
    h: Math.hypot(dx - ax, dy - ay), angle: Math.atan2(by - ay, bx - ax),
  };
}

/* The place of a share of its width and height, where 0, 0 is the first corner. */
function placeOf({ cx, cy, w, h, angle }, [x, y]) {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  const [dx, dy] = [(x - 0.5) * w, (y - 0.5) * h];
  return [cx + cos * dx - sin * dy, cy + sin * dx + cos * dy];
}

const CORNERS = [[0, 0], [1, 0], [1, 1], [0, 1]];
const cornersOf = (turned) => CORNERS.map((corner) => placeOf(turned, corner));

const tenth = (value) => Math.round(value * 10) / 10;
const UPRIGHT = 0.004; // radians below which a box is not turned

/* What the program is given: the upright box around the ellipse in it, and the corners if it is turned. */
function givenOf(turned) {
  const { cx, cy, w, h, angle } = turned;
  if (Math.abs(angle) < UPRIGHT) {
    const [x, y] = [tenth(cx - w / 2), tenth(cy - h / 2)];
    return { bbox: [x, y, tenth(cx + w / 2 - x), tenth(cy + h / 2 - y)] };
  }
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  const [a, b] = [Math.hypot(w * cos, h * sin), Math.hypot(w * sin, h * cos)];
  return { bbox: [cx - a / 2, cy - b / 2, a, b].map(tenth), polygon: cornersOf(turned).flat().map(tenth) };
}

/* Whether a point lies in a rectangle. */
function isWithin(turned, [px, py]) {
  const [x, y] = within(turned, [px - turned.cx, py - turned.cy]);
  return Math.abs(x) <= turned.w / 2 && Math.abs(y) <= turned.h / 2;
}

/* A way on the image along the sides of a rectangle. */
function within({ angle }, [dx, dy]) {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  return [cos * dx + sin * dy, cos * dy - sin * dx];
}

/* The rectangle between two points, in whole tenths of a pixel. */
function between([x, y], [x2, y2]) {
  return { cx: (x + x2) / 2, cy: (y + y2) / 2, w: Math.abs(x2 - x), h: Math.abs(y2 - y), angle: 0 };
}

/* What a drag makes: a new box between its ends, or a changed one. `handle` has the shares of the width and height that
   it moves, "turn", or "all" for the box as a whole. */
function drawnBy({ from, to, handle }) {
  if (!handle) return between(from, to);
  const { turned, at } = handle;
  const way = [to[0] - from[0], to[1] - from[1]];
  if (at === "all") return { ...turned, cx: turned.cx + way[0], cy: turned.cy + way[1] };
  if (at === "turn") {
    const towards = ([x, y]) => Math.atan2(y - turned.cy, x - turned.cx);
    const angle = turned.angle + towards(to) - towards(from);
    return { ...turned, angle: Math.atan2(Math.sin(angle), Math.cos(angle)) };
  }
  const [dx, dy] = within(turned, way);
  const grown = [[turned.w, dx, at[0]], [turned.h, dy, at[1]]].map(([side, by, share]) => {
    const sign = share === 0.5 ? 0 : share === 0 ? -1 : 1;
    return { side: side + sign * by, moved: sign ? by / 2 : 0 };
  });
  const { sin, cos } = { sin: Math.sin(turned.angle), cos: Math.cos(turned.angle) };
  const [mx, my] = grown.map(({ moved }) => moved);
  const [w, h] = grown.map(({ side }) => Math.abs(side));
  return { ...turned, cx: turned.cx + cos * mx - sin * my, cy: turned.cy + sin * mx + cos * my, w, h };
}

/* Colours of targets: the least difference of two is 24 (CIE 1976) for any kind of colour vision. From the thirteenth
   target on they come again. */
const SIGNS = ["#e47806", "#42b4a2", "#9606fc", "#f69cf6", "#c62424", "#f6de0c", "#7e6696", "#30fcc0", "#a2485a", "#90a86c",
  "#e448f0", "#a2f07e"];
const sign = (id) => SIGNS[(id + SIGNS.length - 1) % SIGNS.length];

/* Matt Zucker's fit of matplotlib's viridis (public domain). */
const VIRIDIS = [
  [0.2777273, 0.0054073, 0.3340998], [0.105093, 1.4046135, 1.3845902], [-0.3308618, 0.2148476, 0.0950952],
  [-4.6342305, -5.799101, -19.332441], [6.22827, 14.179933, 56.690553], [4.776385, -13.745145, -65.353033],
  [-5.4354559, 4.6458526, 26.3124352],
];
function viridis(share) {
  return [0, 1, 2].map((c) => 255 * VIRIDIS.reduceRight((sum, powers) => sum * share + powers[c], 0));
}
