"use strict";
// The script of a tape's page. It reads the JSON that html.cpp wrote into the page and nothing else.

const data = JSON.parse(document.getElementById("data").textContent);
const steps = data.steps, calls = data.calls;
const stepAt = new Map(steps.map(step => [step.n, step]));
for (const step of steps) step.readers = [];
for (const step of steps)
  for (const n of new Set(step.from)) stepAt.get(n)?.readers.push(step.n);
const depthOf = c => c < 0 ? 0 : calls[c].depth;
for (const call of calls) call.depth = depthOf(call.parent) + 1;

const $ = id => document.getElementById(id);

function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

function drawn(name, attributes = {}, ...inside) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

// ---- What is drawn: nodes, arrows, boxes. As picture.cpp does, but each call can be folded by itself. ----

const folded = new Set();

function foldTo(depth) {
  folded.clear();
  calls.forEach((call, c) => { if (depth > 0 && call.depth >= depth) folded.add(c); });
}

// The outermost folded call around, or −1.
function foldedInto(c) {
  let found = -1;
  for (; c >= 0; c = calls[c].parent) if (folded.has(c)) found = c;
  return found;
}

function titleOf(call) {
  return call.turns > 1 ? `${call.name}, call ${call.turn} of ${call.turns}` : call.name;
}

function count(n, what) {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

function picture() {
  const nodes = [], nodeOfCall = new Map(), nodeOfStep = new Map();
  for (const step of steps) {
    const into = foldedInto(step.call);
    if (into < 0) {
      nodeOfStep.set(step.n, nodes.length);
      nodes.push({ key: `step${step.n}`, step, inside: step.call, kind: step.kind,
        lines: [["word", step.word], ["name", step.name], ["shape", step.shape]] });
    } else if (calls[into].last === step.n) {
      nodeOfCall.set(into, nodes.length);
      nodes.push({ key: `module${into}`, call: into, inside: calls[into].parent, kind: "module",
        lines: [["word", titleOf(calls[into])], ["shape", count(calls[into].steps, "step")]] });
    }
  }
  const nodeOf = n => nodeOfStep.get(n) ?? nodeOfCall.get(foldedInto(stepAt.get(n)?.call ?? -1));
  const arrows = [], seen = new Set();
  for (const step of steps) for (const n of step.from) {
    const reader = nodeOf(step.n), source = nodeOf(n);
    if (reader === undefined || source === undefined || reader === source) continue;
    const key = `${source} ${reader}`;
    if ((nodes[reader].call ?? nodes[source].call) !== undefined && seen.has(key)) continue;
    seen.add(key);
    arrows.push({ source, reader });
  }
  return { nodes, arrows };
}

// ---- Where it stands: layers from top to bottom, boxes in boxes. As layout.cpp and nested.cpp do. ----

const gapAcross = 22, gapDown = 34, gapBelowPorts = 20, lane = 8, longestLane = 40, sweeps = 4;
const padding = 14, titleHeight = 22;

// Gives each item its centre x and y, and each link its bends. Items are {width, height, port}, links
// {from, to, fromDx, toDx}. Returns the size.
function layOut(items, links) {
  const real = items.length;
  if (real === 0) return { width: 0, height: 0 };
  const layer = new Array(real).fill(0), to = items.map(() => []), from = items.map(() => []);
  for (const link of links) {
    to[link.from].push(link.to);
    from[link.to].push(link.from);
  }
  for (let i = 0; i < real; ++i) for (const source of from[i]) layer[i] = Math.max(layer[i], layer[source] + 1);
  for (let i = real; i-- > 0;) {
    if (items[i].port || to[i].length === 0) continue;
    layer[i] = to[i].reduce((latest, reader) => Math.min(latest, layer[reader] - 1), Infinity);
  }

  // A link across several layers gets a narrow place in each of those between.
  items = items.slice();
  const above = items.map(() => []), below = items.map(() => []), lanes = links.map(() => []);
  const tie = (a, b, dx, weight) => {
    below[a].push({ other: b, dx: -dx, weight });
    above[b].push({ other: a, dx, weight });
  };
  links.forEach((link, k) => {
    const span = layer[link.to] - layer[link.from];
    if (span > longestLane) return;
    let before = link.from, dx = link.fromDx;
    for (let l = layer[link.from] + 1; l < layer[link.to]; ++l) {
      const place = items.length;
      items.push({ width: lane, height: 0 });
      layer.push(l);
      above.push([]);
      below.push([]);
      lanes[k].push(place);
      tie(before, place, dx, 4);
      before = place;
      dx = 0;
    }
    tie(before, link.to, dx - link.toDx, span > 1 ? 4 : 1);
  });

  const rows = [];
  items.forEach((item, i) => (rows[layer[i]] ??= []).push(i));
  const number = row => row.forEach((i, place) => { items[i].x = place; });
  rows.forEach(number);
  const order = (row, ties) => {
    const mean = new Map(row.map(i => [i, ties[i].length === 0 ? items[i].x :
      ties[i].reduce((sum, t) => sum + items[t.other].x + t.dx / 1024, 0) / ties[i].length]));
    row.sort((a, b) => mean.get(a) - mean.get(b));
    number(row);
  };
  const distance = (a, b) => (items[a].width + items[b].width) / 2 + gapAcross;

  // As near as their order allows to where ties would be straight: pool adjacent violators.
  const straighten = (row, ties) => {
    const blocks = [];
    let offset = 0;
    row.forEach((i, place) => {
      if (place > 0) offset += distance(row[place - 1], i);
      let sum = 0, weight = 0;
      for (const t of ties[i]) {
        sum += t.weight * (items[t.other].x + t.dx);
        weight += t.weight;
      }
      if (weight === 0) {
        weight = 1 / 1024;
        sum = weight * items[i].x;
      }
      let block = { sum: sum - weight * offset, weight, members: [[i, offset]] };
      while (blocks.length > 0 && blocks.at(-1).sum / blocks.at(-1).weight > block.sum / block.weight) {
        const last = blocks.pop();
        last.members.push(...block.members);
        block = { sum: last.sum + block.sum, weight: last.weight + block.weight, members: last.members };
      }
      blocks.push(block);
    });
    for (const block of blocks)
      for (const [i, at] of block.members) items[i].x = Math.round(block.sum / block.weight) + at;
  };
  const sweep = f => {
    for (let l = 1; l < rows.length; ++l) f(rows[l], above);
    for (let l = rows.length - 1; l-- > 0;) f(rows[l], below);
  };
  for (let i = 0; i < sweeps; ++i) sweep(order);
  for (const row of rows) {
    let x = 0;
    row.forEach((i, place) => { items[i].x = x += place > 0 ? distance(row[place - 1], i) : 0; });
    for (const i of row) items[i].x -= x / 2;
  }
  for (let i = 0; i < sweeps; ++i) sweep(straighten);

  let left = Infinity, right = -Infinity, y = 0, gap = 0;
  const heights = rows.map(row => row.reduce((height, i) => Math.max(height, items[i].height), 0));
  rows.forEach((row, l) => {
    for (const i of row) {
      left = Math.min(left, items[i].x - items[i].width / 2);
      right = Math.max(right, items[i].x + items[i].width / 2);
      items[i].y = items[i].port ? y : y + heights[l] / 2;
    }
    gap = heights[l] > 0 ? gapDown : gapBelowPorts;
    y += heights[l] + gap;
  });
  for (const item of items) item.x -= left;
  links.forEach((link, k) => {
    link.bends = items[link.from].port ? [{ x: items[link.from].x, y: heights[0] }] : [];
    for (const i of lanes[k])
      for (const side of [-1, 1]) link.bends.push({ x: items[i].x, y: items[i].y + side * heights[layer[i]] / 2 });
  });
  return { width: right - left, height: y - gap };
}

// Lays out the inside of each box as a drawing of its own. Returns the boxes with their places, the runs of the
// arrows, and the size; nodes get their places.
function nest({ nodes, arrows }) {
  const levels = new Map();  // by call; −1 is outermost
  const level = c => levels.get(c) ?? levels.set(c, { items: [], links: [], ports: new Map() }).get(c);
  const boxes = new Map();
  const put = (item, c) => {
    item.level = c;
    item.place = level(c).items.push(item) - 1;
  };
  const last = new Map();
  nodes.forEach((node, i) => { for (let c = node.inside; c >= 0; c = calls[c].parent) last.set(c, i); });
  nodes.forEach((node, i) => {
    put(node, node.inside);
    for (let c = node.inside; c >= 0 && last.get(c) === i; c = calls[c].parent) {
      boxes.set(c, { call: c });
      put(boxes.get(c), calls[c].parent);
    }
  });

  for (const arrow of arrows) {
    const source = nodes[arrow.source], reader = nodes[arrow.reader];
    let item = source, a = source.inside, b = reader.inside;
    const around = [];  // boxes around the reader and not the source, innermost first
    while (a !== b) {
      if (depthOf(a) >= depthOf(b)) {
        item = boxes.get(a);
        a = calls[a].parent;
      } else {
        around.push(b);
        b = calls[b].parent;
      }
    }
    for (const c of around.reverse()) {
      let port = level(c).ports.get(source);
      if (!port) {
        port = { width: lane, height: 0, port: true };
        put(port, c);
        level(c).ports.set(source, port);
        port.link = { from: item.place, to: boxes.get(c).place, source, port, readers: [] };
        level(item.level).links.push(port.link);
      }
      port.link.readers.push(reader);
      item = port;
    }
    level(item.level).links.push({ from: item.place, to: reader.place, source, end: reader, readers: [reader] });
  }

  // How far a thing stands to the right of the centre of the item that holds it in a level.
  const besideCentre = (thing, c) => {
    let dx = 0;
    for (; thing.level !== c; thing = boxes.get(thing.level))
      dx += thing.x + levels.get(thing.level).inset - boxes.get(thing.level).width / 2;
    return dx;
  };
  const layOutLevel = c => {
    const { items, links } = level(c);
    for (const link of links) {
      link.fromDx = items[link.from].port ? 0 : besideCentre(link.source, c);
      link.toDx = link.port ? besideCentre(link.port, c) : 0;
    }
    return layOut(items, links);
  };
  for (const c of [...boxes.keys()].sort((a, b) => b - a)) {
    const inside = layOutLevel(c), box = boxes.get(c);
    box.title = titleOf(calls[c]);
    box.width = 2 * Math.ceil(Math.max(inside.width, widthOf(box.title, "12px")) / 2) + 2 * padding;
    box.height = inside.height + 2 * padding + titleHeight;
    level(c).inset = (box.width - inside.width) / 2;
  }
  const size = layOutLevel(-1);
  const origin = new Map([[-1, { x: 0, y: 0 }]]);
  for (const c of [...boxes.keys()].sort((a, b) => a - b)) {
    const box = boxes.get(c), around = origin.get(box.level);
    origin.set(c, { x: around.x + box.x - box.width / 2 + levels.get(c).inset,
      y: around.y + box.y - box.height / 2 + padding + titleHeight });
  }
  for (const thing of [...nodes, ...boxes.values(), ...[...levels.values()].flatMap(l => [...l.ports.values()])])
    thing.at = { x: thing.x + origin.get(thing.level).x, y: thing.y + origin.get(thing.level).y };

  const runs = [], arriving = new Map(nodes.map(node => [node, []]));
  for (const [c, { items, links }] of levels) for (const link of links) {
    const { source, end, port, readers } = link, from = items[link.from];
    const way = [from.port ? from.at : { x: source.at.x, y: source.at.y + source.height / 2 }];
    for (const bend of link.bends) way.push({ x: bend.x + origin.get(c).x, y: bend.y + origin.get(c).y });
    way.push(end ? { x: end.at.x, y: end.at.y - end.height / 2 } : port.at);
    const run = { way, source, readers, arrives: Boolean(end) };
    runs.push(run);
    if (end) arriving.get(end).push(run);
  }
  // Runs that arrive at one node do so side by side.
  for (const [node, at] of arriving) {
    at.sort((a, b) => a.way.at(-2).x - b.way.at(-2).x);
    const step = Math.min(14, node.width / (at.length + 1));
    at.forEach((run, i) => { run.way.at(-1).x += step * (i - (at.length - 1) / 2); });
  }
  return { boxes: [...boxes.values()], runs, size };
}

const pen = document.createElement("canvas").getContext("2d");
function widthOf(text, size, weight = "") {
  pen.font = `${weight} ${size} ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

// ---- Drawing, moving, zooming. ----

const svg = $("drawing");
let nodes = [], runs = [], size = { width: 0, height: 0 };
let view = { x: 0, y: 0, scale: 1 }, stage, chosen = null;

function pathOf(way) {
  let at = way[0], d = `M${at.x} ${at.y}`;
  for (const next of way.slice(1)) {
    const middle = (at.y + next.y) / 2;
    d += at.x === next.x ? ` V${next.y}` : ` C${at.x} ${middle} ${next.x} ${middle} ${next.x} ${next.y}`;
    at = next;
  }
  return d;
}

function rectangle(thing) {
  return drawn("rect", { x: thing.at.x - thing.width / 2, y: thing.at.y - thing.height / 2, width: thing.width,
    height: thing.height, rx: 7 });
}

function draw() {
  const shown = picture();
  nodes = shown.nodes;
  for (const node of nodes) {
    node.lines = node.lines.filter(([, text]) => text);
    const widest = Math.max(40, ...node.lines.map(([kind, text]) =>
      kind === "word" ? widthOf(text, "13px", "600") : widthOf(text, "12px")));
    node.width = 2 * Math.ceil(widest / 2) + 20;
    node.height = 16 * node.lines.length + 10;
  }
  const nested = nest(shown);
  ({ runs, size } = nested);
  const marker = id => drawn("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
    markerUnits: "userSpaceOnUse", orient: "auto" }, drawn("path", { d: "M0 0 L8 4 L0 8 z" }));
  stage = drawn("g");
  for (const box of nested.boxes.sort((a, b) => a.call - b.call)) {
    const made = drawn("g", { class: "box", tabindex: 0, role: "button", "aria-label": `Fold ${box.title}`,
      "data-call": box.call }, drawn("title", {}, `Fold ${calls[box.call].path}`), rectangle(box));
    stage.append(made);
  }
  for (const run of runs) {
    run.path = drawn("path", { class: run.arrives ? "run arrow" : "run", d: pathOf(run.way) });
    stage.append(run.path);
  }
  for (const box of nested.boxes)
    stage.append(drawn("text", { class: "title", x: box.at.x - box.width / 2 + padding,
      y: box.at.y - box.height / 2 + 18, "pointer-events": "none" }, box.title));
  for (const node of nodes) {
    const said = node.lines.map(([, text]) => text).join(", ");
    node.made = drawn("g", { class: `node ${node.kind}`, tabindex: 0, role: "button", id: node.key,
      "aria-label": node.step ? `Step ${node.step.n}: ${said}` : `Unfold ${said}` }, rectangle(node));
    let y = node.at.y - node.height / 2 + 18;
    for (const [kind, text] of node.lines) {
      node.made.append(drawn("text", { class: kind, x: node.at.x, y }, text));
      y += 16;
    }
    stage.append(node.made);
  }
  svg.replaceChildren(drawn("defs", {}, marker("head"), marker("head-near")), stage);
  place();
  mark();
}

function place() {
  stage.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
}

function fit() {
  const { width, height } = svg.getBoundingClientRect();
  const scale = Math.min((width - 40) / size.width, (height - 80) / size.height, 1.25);
  // A long tape is shown from its beginning, large enough to be read.
  view.scale = Math.max(scale, Math.min(0.7, (width - 40) / size.width));
  view.x = (width - size.width * view.scale) / 2;
  view.y = 56;
  place();
}

function zoom(factor, x, y) {
  const { width, height } = svg.getBoundingClientRect();
  x ??= width / 2;
  y ??= height / 2;
  const scale = Math.min(4, Math.max(0.02, view.scale * factor));
  view.x = x - (x - view.x) * scale / view.scale;
  view.y = y - (y - view.y) * scale / view.scale;
  view.scale = scale;
  place();
}

// Draws anew with a thing kept where it was on the screen.
function redrawAround(find, at) {
  draw();
  const now = find();
  if (!now || !at) return fit();
  view.x += (at.x - now.x) * view.scale;
  view.y += (at.y - now.y) * view.scale;
  place();
}

function toggle(c) {
  const topOf = () => {
    const node = nodes.find(n => n.call === c);
    if (node) return { x: node.at.x, y: node.at.y - node.height / 2 };
    const box = svg.querySelector(`[data-call="${c}"] rect`);
    return box && { x: +box.getAttribute("x") + box.getAttribute("width") / 2, y: +box.getAttribute("y") };
  };
  const at = topOf();
  folded.has(c) ? folded.delete(c) : folded.add(c);
  redrawAround(topOf, at);
  (nodes.find(n => n.call === c)?.made ?? svg.querySelector(`[data-call="${c}"]`))?.focus({ preventScroll: true });
}

// Scrolls the picture so that a node can be seen.
function show(node) {
  const { width, height } = svg.getBoundingClientRect();
  const x = node.at.x * view.scale + view.x, y = node.at.y * view.scale + view.y;
  if (x < 60 || x > width - 60) view.x += width / 2 - x;
  if (y < 80 || y > height - 60) view.y += height / 2 - y;
  place();
}

// ---- What is chosen. ----

function mark() {
  for (const node of nodes) node.made.classList.toggle("chosen", node.step !== undefined && node.step === chosen);
  for (const run of runs)
    run.path.classList.toggle("near", chosen !== null && (run.source.step === chosen ||
      run.readers.some(reader => reader.step === chosen)));
}

function choose(n, { focus = false } = {}) {
  const step = stepAt.get(n);
  if (!step) return;
  const hidden = [];
  for (let c = step.call; c >= 0; c = calls[c].parent) if (folded.has(c)) hidden.push(c);
  for (const c of hidden) folded.delete(c);
  if (hidden.length > 0) draw();
  chosen = step;
  mark();
  const node = nodes.find(candidate => candidate.step === step);
  show(node);
  if (focus) node.made.focus({ preventScroll: true });
  describe(step);
  try { history.replaceState(null, "", `#at-${n}`); } catch { /* a page without an address */ }
}

function stepButton(n) {
  const step = stepAt.get(n);
  const made = element("button", {}, step ? `${n} ${step.word}${step.name ? ` ${step.name}` : ""}` : `${n}`);
  if (step) made.onclick = () => choose(n);
  else made.disabled = true;
  return made;
}

function describe(step) {
  const parts = [];
  const section = (title, ...inside) => parts.push(element("h3", {}, title), ...inside);
  parts.push(element("h2", {}, element("span", { class: "number" }, `${step.n} `), step.word));
  const facts = element("dl");
  const fact = (name, text) => { if (text) facts.append(element("dt", {}, name), element("dd", {}, text)); };
  fact("name", step.long);
  fact("shape", step.shape);
  fact("settings", step.settings);
  parts.push(facts);
  section("Value", element("pre", { id: "value" }, step.value));
  section(data.gradient, element("pre", { id: "blame" }, step.blame));
  if (step.work?.length)
    section("Arithmetic", element("pre", { class: "work" }, step.work.join("\n").trimEnd()));
  if (step.source) section("Source", element("pre", { id: "source" }, step.source));
  if (step.from.length) section("Computed from", element("div", { class: "steps" }, ...step.from.map(stepButton)));
  if (step.readers.length) section("Read by", element("div", { class: "steps" }, ...step.readers.map(stepButton)));
  const map = data.attention.find(m => m.step === step.n);
  if (map) {
    const go = element("button", {}, "Who looks at whom");
    go.onclick = () => $(`map${step.n}`).scrollIntoView({ block: "start" });
    parts.push(element("h3", {}, "Attention"), go);
  }
  $("chosen").replaceChildren(...parts);
  $("chosen").scrollTop = 0;
}

function describeNothing() {
  $("chosen").replaceChildren(element("h2", {}, "Choose a step"), element("p", { class: "soft" },
    `Its value, its ${data.noun}, its arithmetic and its source stand here then.`), element("p", { class: "soft" },
    "Drag to move the picture, turn the wheel to zoom, choose a module to fold it. With the keyboard: arrow keys walk " +
    "along the tape, Enter chooses or folds, + and - zoom, 0 shows all."));
}

// ---- Mouse, finger, wheel, keys. ----

const pointers = new Map();
let moved = 0;

svg.addEventListener("pointerdown", event => {
  if (pointers.size === 0) moved = 0;
  pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
});
window.addEventListener("pointermove", event => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const frame = svg.getBoundingClientRect();
  const now = { x: event.clientX - frame.left, y: event.clientY - frame.top };
  moved += Math.hypot(now.x - before.x, now.y - before.y);
  if (pointers.size === 2) {
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
    if (Number.isFinite(factor) && factor > 0) zoom(factor, (now.x + other.x) / 2, (now.y + other.y) / 2);
  } else {
    view.x += now.x - before.x;
    view.y += now.y - before.y;
    place();
  }
  pointers.set(event.pointerId, now);
});
for (const end of ["pointerup", "pointercancel"])
  window.addEventListener(end, event => pointers.delete(event.pointerId));

svg.addEventListener("wheel", event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
}, { passive: false });

function activate(target) {
  const made = target.closest(".node");
  if (made) {
    const node = nodes.find(n => n.made === made);
    return node.step ? choose(node.step.n) : toggle(node.call);
  }
  const box = target.closest(".box");
  if (box) toggle(+box.dataset.call);
}

svg.addEventListener("click", event => { if (moved < 5) activate(event.target); });

// Up to what a step was computed from, down to who reads it, sideways along the tape.
function neighbour(step, key) {
  if (key === "ArrowUp") return step.from.find(n => stepAt.has(n));
  if (key === "ArrowDown") return step.readers[0];
  const next = steps[steps.indexOf(step) + (key === "ArrowLeft" ? -1 : 1)];
  return next?.n;
}

svg.addEventListener("keydown", event => {
  const { key } = event;
  if (key === "Enter" || key === " ") activate(event.target);
  else if (key === "+" || key === "=") zoom(1.25);
  else if (key === "-") zoom(0.8);
  else if (key === "0") fit();
  else if (key.startsWith("Arrow")) {
    const node = nodes.find(n => n.made === event.target);
    const step = node?.step ?? chosen;
    const n = step ? neighbour(step, key) : steps.at(-1)?.n;
    if (n !== undefined) choose(n, { focus: true });
  } else return;
  event.preventDefault();
});

$("fit").onclick = fit;
$("closer").onclick = () => zoom(1.25);
$("farther").onclick = () => zoom(0.8);
$("fold").onclick = () => { foldTo(1); draw(); fit(); };
$("unfold").onclick = () => { foldTo(0); draw(); fit(); };
$("fold").hidden = $("unfold").hidden = calls.length === 0;

function matches(step, text) {
  return String(step.n) === text || [step.word, step.name, step.long].some(s => s.toLowerCase().includes(text));
}
$("find").addEventListener("input", () => {
  const text = $("find").value.trim().toLowerCase();
  for (const node of nodes) node.made.classList.toggle("found", Boolean(text && node.step && matches(node.step, text)));
});
$("find").addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  const text = $("find").value.trim().toLowerCase();
  const found = text ? steps.filter(step => matches(step, text)) : [];
  if (found.length > 0) choose(found[(found.indexOf(chosen) + 1) % found.length].n);
});

// ---- Maps of attention: who looks at whom. ----

const isPadding = slot => slot < data.words.length && ["", "·"].includes(data.words[slot]);
const wordAt = slot => slot >= data.words.length ? String(slot + 1) : !isPadding(slot) ? data.words[slot] :
  slot > 0 && isPadding(slot - 1) ? "·" : "padding";
const share = w => w === null ? "not a number" : w.toFixed(3);

class AttentionMap {
  constructor(map, head, reading) {
    Object.assign(this, { map, weights: map.heads[head], reading, at: null });
    this.cell = Math.max(3, Math.min(26, Math.floor(680 / Math.max(map.rows, map.keys))));
    this.canvas = element("canvas", { class: "map", tabindex: 0, role: "img",
      "aria-label": `Head ${head + 1}: rows look at columns. Arrow keys read the numbers.` });
    this.canvas.addEventListener("pointermove", event => this.point(event));
    this.canvas.addEventListener("keydown", event => this.key(event));
    this.canvas.addEventListener("focus", () => this.read(this.at ?? { row: 0, key: 0 }));
    this.draw();
  }

  draw() {
    const { map, cell, canvas } = this, style = getComputedStyle(document.documentElement);
    const color = name => style.getPropertyValue(name).trim();
    const labels = cell >= 11, font = `${Math.min(12, cell - 1)}px system-ui, "DejaVu Sans", sans-serif`;
    pen.font = font;
    const longest = n => Math.min(110, Math.max(...Array.from({ length: n }, (_, i) => pen.measureText(wordAt(i)).width)));
    this.left = labels ? Math.ceil(longest(map.rows)) + 8 : 4;
    this.top = labels ? Math.ceil(longest(map.keys)) + 8 : 4;
    const width = this.left + map.keys * cell + 1, height = this.top + map.rows * cell + 1;
    const dots = window.devicePixelRatio || 1;
    canvas.width = width * dots;
    canvas.height = height * dots;
    canvas.style.width = `${width}px`;
    const c = canvas.getContext("2d");
    c.scale(dots, dots);
    c.font = font;
    for (let row = 0; row < map.rows; ++row) for (let key = 0; key < map.keys; ++key) {
      const w = this.weights[row * map.keys + key], x = this.left + key * cell, y = this.top + row * cell;
      c.globalAlpha = 1;
      c.fillStyle = color("--sheet");
      c.fillRect(x, y, cell, cell);
      c.globalAlpha = w === null ? 1 : Math.sqrt(w);  // else a hundredth could not be seen
      c.fillStyle = w === null ? "#c0392b" : color("--accent");
      c.fillRect(x, y, cell, cell);
    }
    // Padding is hatched: rows that are no word, and columns whose share no word gets.
    c.globalAlpha = 0.8;
    c.strokeStyle = color("--soft");
    c.lineWidth = 0.7;
    for (let row = 0; row < map.rows; ++row) for (let key = 0; key < map.keys; ++key) {
      if (!isPadding(row) && !isPadding(key)) continue;
      const x = this.left + key * cell, y = this.top + row * cell;
      c.beginPath();
      c.moveTo(x, y + cell);
      c.lineTo(x + cell, y);
      c.stroke();
    }
    c.globalAlpha = 1;
    c.strokeStyle = color("--rule");
    if (cell >= 8) for (let row = 0; row <= map.rows; ++row) this.line(c, this.left, this.top + row * cell, width, 0);
    if (cell >= 8) for (let key = 0; key <= map.keys; ++key) this.line(c, this.left + key * cell, this.top, height, 1);
    c.strokeRect(this.left + 0.5, this.top + 0.5, map.keys * cell, map.rows * cell);
    if (labels) this.label(c, color);
    if (!this.at) return;
    c.strokeStyle = color("--ink");
    c.lineWidth = 2;
    c.strokeRect(this.left + this.at.key * cell, this.top + this.at.row * cell, cell, cell);
  }

  line(c, x, y, end, down) {
    c.beginPath();
    c.moveTo(x + 0.5, y + 0.5);
    down ? c.lineTo(x + 0.5, end) : c.lineTo(end, y + 0.5);
    c.stroke();
  }

  label(c, color) {
    const { map, cell } = this;
    c.textBaseline = "middle";
    for (let row = 0; row < map.rows; ++row) {
      c.fillStyle = color(isPadding(row) ? "--soft" : "--ink");
      c.textAlign = "right";
      c.fillText(wordAt(row), this.left - 6, this.top + (row + 0.5) * cell, 104);
    }
    for (let key = 0; key < map.keys; ++key) {
      c.fillStyle = color(isPadding(key) ? "--soft" : "--ink");
      c.save();
      c.translate(this.left + (key + 0.5) * cell, this.top - 6);
      c.rotate(-Math.PI / 2);
      c.textAlign = "left";
      c.fillText(wordAt(key), 0, 0, 104);
      c.restore();
    }
  }

  point(event) {
    const key = Math.floor((event.offsetX - this.left) / this.cell);
    const row = Math.floor((event.offsetY - this.top) / this.cell);
    if (row >= 0 && row < this.map.rows && key >= 0 && key < this.map.keys) this.read({ row, key });
  }

  key(event) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!by) return;
    event.preventDefault();
    const within = (at, n) => Math.min(n - 1, Math.max(0, at));
    const at = this.at ?? { row: 0, key: 0 };
    this.read({ row: within(at.row + by[0], this.map.rows), key: within(at.key + by[1], this.map.keys) });
  }

  // "nolan looks at ended: 0.953 of all its attention. Padding takes 0.631."
  read(at) {
    this.at = at;
    this.draw();
    const row = this.weights.slice(at.row * this.map.keys, (at.row + 1) * this.map.keys);
    const name = slot => isPadding(slot) ? `the padding in slot ${slot + 1}` :
      slot < data.words.length ? data.words[slot] : `slot ${slot + 1}`;
    let text = `${name(at.row)} looks at ${name(at.key)}: ${share(row[at.key])} of all its attention.`;
    const padding = row.filter((_, key) => isPadding(key));
    if (padding.length > 0) text += ` Padding takes ${share(padding.reduce((sum, w) => sum + w, 0))} of it.`;
    this.reading.textContent = text;
  }
}

// How much of what the words give goes to padding, on average: a mask would switch it off.
function paddingShare(map) {
  let sum = 0, rows = 0;
  for (const weights of map.heads) for (let row = 0; row < map.rows; ++row) {
    if (isPadding(row)) continue;
    ++rows;
    for (let key = 0; key < map.keys; ++key) if (isPadding(key)) sum += weights[row * map.keys + key] ?? 0;
  }
  return rows > 0 ? sum / rows : 0;
}

function showAttention() {
  if (data.attention.length === 0) return;
  const [title, list] = $("attention").children;
  title.textContent = "Who looks at whom";
  const maps = [];
  for (const map of data.attention) {
    const step = stepAt.get(map.step), part = element("div", { id: `map${map.step}` });
    const caption = element("p", {}, stepButton(map.step), ` ${step.long}`);
    part.append(caption);
    list.append(part);
    if (map.fault) {
      part.append(element("p", { class: "soft" }, `Its weights cannot be shown: ${map.fault}`));
      continue;
    }
    const notes = ["Each row shares out 1 among the columns it looks at; the darker, the larger the share."];
    if (data.words.some((_, slot) => isPadding(slot)))
      notes.push(`Padding is hatched; the words give it ${share(paddingShare(map))} of their attention on average.`);
    if (map.samples > 1) notes.push(`This is the first of ${map.samples} samples.`);
    if (map.left_out) notes.push(`Only the first ${map.rows} rows and ${map.keys} columns are shown.`);
    const reading = element("p", { class: "reading", "aria-live": "polite" }, "Point at a field to read its number.");
    const heads = element("div", { class: "maps" });
    map.heads.forEach((_, head) => {
      const made = new AttentionMap(map, head, reading);
      maps.push(made);
      heads.append(element("figure", {}, element("figcaption", {}, `head ${head + 1} of ${map.heads.length}`), made.canvas));
    });
    part.append(element("p", { class: "soft" }, notes.join(" ")), heads, reading);
  }
  $("attention").hidden = false;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => maps.forEach(map => map.draw()));
}

// ---- Begin. ----

foldTo(data.fold >= 0 ? data.fold : steps.length > 150 ? 1 : 0);
draw();
fit();
describeNothing();
showAttention();
const asked = /^#at-(\d+)$/.exec(location.hash);
if (asked) choose(+asked[1]);
addEventListener("resize", place);
