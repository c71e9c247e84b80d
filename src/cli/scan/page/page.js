
"use strict";
// Names are put into the page as text alone, by textContent.
const data = JSON.parse(document.getElementById("data").textContent);
const whole = data.total;
const number = new Intl.NumberFormat("en");
const host = (id) => document.getElementById(id);

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

const name = (text) => make("bdi", "name", text);
const percent = (share) => Math.min(99, Math.round(share * 100)) + " %";
const words = (label) => label.replaceAll("-", " ");
const findings = Object.entries(whole.found).map(([label, names]) => (
  { label, names, offence: whole.policy.offences.includes(label) }
));

// The finding that most names have; offences go before remarks.
function worstOf(found) {
  let best = -1;
  found.forEach((count, index) => {
    if (!count) return;
    const weight = (i) => (findings[i].offence ? 1e15 : 0) + found[i];
    if (best < 0 || weight(index) > weight(best)) best = index;
  });
  return best;
}

function summary() {
  host("roots").append("in ");
  whole.roots.forEach((root, index) => host("roots").append(index ? ", " : "", name(root === '""' ? "a list of names" : root)));
  for (const [count, what] of [
    [whole.names, "names"], [whole.offending, "offend"], [whole.remarked, "others worth a look"],
    [whole.ascii, "in ASCII"], [whole.utf8, "in UTF-8 beyond ASCII"], [whole.ill_formed, "ill-formed"],
    [whole.directories, "directories"], [whole.troubled_directories, "with findings"],
  ]) {
    const card = make("div", "card");
    card.append(make("b", "", number.format(count)), make("span", "", what));
    host("summary").append(card);
  }
  host("made").textContent = "utf8fs " + data.version + ", utf8fs scan --html";
}

// The map.

// Directories with findings in them or below them, each after the one above it. The first is above all.
const places = [];

function addPlace(label, above) {
  const none = () => findings.map(() => 0);
  const place = { label, above, own: 0, ownFound: none(), troubled: 0, found: none(), below: [], known: new Map() };
  return places.push(place) - 1;
}

addPlace("", 0);
for (const [, , offending, remarked, found, , labels] of data.worst) {
  let at = 0;
  for (const label of labels) {
    const known = places[at].known;
    if (!known.has(label)) known.set(label, addPlace(label, at));
    at = known.get(label);
  }
  const own = offending + remarked;
  Object.assign(places[at], { own, ownFound: found, troubled: own, found: found.slice() });
}
for (let index = places.length - 1; index > 0; index--) {
  const place = places[index], above = places[place.above];
  above.below.push(index);
  above.troubled += place.troubled;
  place.found.forEach((count, finding) => { above.found[finding] += count; });
}

// Squarified: rows along the shorter side, as square as they can be.
function layout(items, x, y, width, height, put) {
  let total = items.reduce((sum, item) => sum + item.size, 0);
  let rest = items.slice().sort((a, b) => b.size - a.size);
  while (rest.length && width > 0 && height > 0) {
    const side = Math.min(width, height), scale = (width * height) / total;
    let row = 1, sum = rest[0].size, worst = Infinity;
    for (let length = 1, added = 0; length <= rest.length; length++) {
      added += rest[length - 1].size;
      const depth = (added * scale) / side;
      const shape = (size) => Math.max(depth / ((size * scale) / depth), ((size * scale) / depth) / depth);
      const ratio = Math.max(shape(rest[0].size), shape(rest[length - 1].size));
      if (ratio > worst) break;
      worst = ratio; row = length; sum = added;
    }
    const depth = (sum * scale) / side;
    let along = 0;
    for (const item of rest.slice(0, row)) {
      const length = (item.size / sum) * side;
      if (width >= height) put(item, x, y + along, depth, length);
      else put(item, x + along, y, length, depth);
      along += length;
    }
    if (width >= height) { x += depth; width -= depth; } else { y += depth; height -= depth; }
    total -= sum;
    rest = rest.slice(row);
  }
}

// Boxes that are too small to be seen are one box.
const MOST_TILES = 400;
let shown = 0;

function show(index) {
  shown = index;
  const place = places[index], map = host("map");
  let items = place.below.map((below) => ({
    size: places[below].troubled, label: places[below].label, found: places[below].found, index: below,
  }));
  if (place.own) {
    items.push({ size: place.own, label: "names right here", found: place.ownFound, index: -1 });
  }
  items.sort((a, b) => b.size - a.size);
  if (items.length > MOST_TILES) {
    const others = items.splice(MOST_TILES - 1);
    const found = others.reduce((sum, item) => sum.map((count, i) => count + item.found[i]), place.found.map(() => 0));
    items.push({
      size: others.reduce((sum, item) => sum + item.size, 0), label: number.format(others.length) + " smaller ones", found, index: -1,
    });
  }
  map.replaceChildren();
  layout(items, 0, 0, map.clientWidth, map.clientHeight, (item, x, y, width, height) => {
    const leads = item.index >= 0;
    const tile = make("button", "tile f" + worstOf(item.found) + (leads ? "" : " leaf"));
    tile.style.left = x + "px";
    tile.style.top = y + "px";
    tile.style.width = width + "px";
    tile.style.height = height + "px";
    const count = number.format(item.size);
    tile.title = item.label + ": " + count + " names with findings";
    tile.setAttribute("aria-label", tile.title);
    if (width < 24 || height < 14) tile.style.padding = "0";
    if (width > 56 && height > 26) tile.append(name(item.label));
    if (width > 56 && height > 46) tile.append(make("span", "count", count));
    if (leads) tile.addEventListener("click", () => show(item.index));
    else tile.tabIndex = -1;
    map.append(tile);
  });
  if (!items.length) map.append(make("p", "empty", "Nothing was found."));
  crumbs(index);
}

function crumbs(index) {
  const way = [];
  for (let at = index; at > 0; at = places[at].above) way.unshift(at);
  const buttons = [0, ...way].map((at) => {
    const button = make("button", "");
    button.append(at ? name(places[at].label) : "all");
    button.disabled = at === index;
    button.addEventListener("click", () => show(at));
    return button;
  });
  host("crumbs").replaceChildren();
  buttons.forEach((button, place) => host("crumbs").append(place ? "\u203A" : "", button));
  host("crumbs").append(make("span", "count", number.format(places[index].troubled) + " names with findings"));
}

function swatch(finding) {
  return make("span", "swatch f" + finding);
}

function legend() {
  findings.forEach((finding, index) => {
    if (!finding.names) return;
    const entry = make("span", "");
    entry.append(swatch(index), words(finding.label) + (finding.offence ? "" : " (no offence)"));
    host("legend").append(entry);
  });
  const onMap = places[0].troubled, all = whole.offending + whole.remarked;
  if (onMap < all) {
    host("legend").append(make("span", "", number.format(all - onMap) + " names in directories with fewer are not on the map"));
  }
}

function kinds() {
  const rows = whole.kinds.map((kind, index) => ({ ...kind, what: data.kinds[index] }));
  rows.sort((a, b) => b.offence - a.offence || b.names - a.names);
  const most = Math.max(1, ...rows.map((row) => row.names));
  for (const row of rows) {
    const bar = make("div", "bar"), track = make("div", "track"), fill = make("div", "fill f" + Object.keys(whole.found).indexOf(row.finding));
    fill.style.width = (row.names / most) * 100 + "%";
    track.append(fill);
    bar.append(make("span", "", row.what + (row.offence ? "" : " (no offence)")), track, make("span", "number", number.format(row.names)));
    host("kinds").append(bar);
  }
  if (!rows.length) host("kinds").append(make("p", "empty", "Nothing was found."));
}

function examples(box, rows) {
  const table = make("table", "");
  for (const read of rows.filter((read) => read.text)) {
    const row = table.insertRow();
    row.insertCell().append(name(read.name));
    row.insertCell().append(name(read.text));
  }
  box.append(table);
  host("guesses").append(box);
}

function charsets() {
  host("charsets").hidden = !whole.ill_formed && !whole.next.length;
  if (whole.charsets.length) host("guesses").append(make("p", "", "The ill-formed names mix charsets."));
  for (const { charsets, names, directories, examples: rows } of whole.charsets) {
    const box = make("div", "guess"), mixed = charsets.length > 1 ? "mixed: " : "";
    box.append(make("b", "", mixed + charsets.join(", ") || "uncertain"));
    box.append(", names " + number.format(names) + ", directories " + number.format(directories));
    examples(box, rows);
  }
  const guesses = whole.charsets.length ? [] : data.guesses;
  for (const guess of guesses) {
    const box = make("div", "guess");
    box.append(make("span", "percent", percent(guess.confidence)), make("b", "", guess.charset));
    box.append(" reads " + number.format(guess.read) + " of " + number.format(guess.of));
    if (guess.alike.length) box.append(make("div", "alike", "read alike by " + guess.alike.join(", ")));
    examples(box, guess.examples);
  }
  if (whole.ill_formed && !host("guesses").firstChild) host("guesses").append(make("p", "empty", "No charset on offer reads them."));
  if (whole.next.length) host("next").append("Next: ", make("br"), name(whole.next.join("\n")));
}

// Tables.

const ROWS = 100;

// Columns: title, the value that is sorted by, what is put into the cell, whether it is a number.
function table(into, columns, rows, textOf, findingsOf, order) {
  const tools = make("div", "tools"), input = make("input", ""), select = make("select", "");
  const told = make("span", "shown"), scroll = make("div", "scroll"), grid = make("table", "");
  const head = grid.createTHead().insertRow(), body = grid.createTBody(), more = make("button", "more", "Show more");
  let sorted = order, most = ROWS;
  input.type = "search";
  input.placeholder = "Filter by text";
  input.setAttribute("aria-label", "Filter by text");
  select.setAttribute("aria-label", "Filter by finding");
  select.append(new Option("every finding", ""));
  findings.forEach((finding, index) => {
    if (finding.names) select.append(new Option(words(finding.label), String(index)));
  });
  const texts = rows.map((row) => textOf(row).toLowerCase());

  function draw() {
    const wanted = input.value.toLowerCase(), finding = select.value;
    const kept = rows.filter((row, index) =>
      texts[index].includes(wanted) && (finding === "" || findingsOf(row).includes(Number(finding))));
    const [column, direction] = sorted, value = columns[column].value;
    kept.sort((a, b) => {
      const [left, right] = [value(a), value(b)];
      return direction * (left < right ? -1 : left > right ? 1 : 0);
    });
    body.replaceChildren();
    for (const row of kept.slice(0, most)) {
      const line = body.insertRow();
      for (const { cell, isNumber } of columns) {
        const to = line.insertCell();
        if (isNumber) to.className = "number";
        to.append(...[cell(row)].flat());
      }
    }
    [...head.cells].forEach((cell, index) => {
      cell.setAttribute("aria-sort", index !== column ? "none" : direction > 0 ? "ascending" : "descending");
    });
    told.textContent = number.format(Math.min(most, kept.length)) + " of " + number.format(kept.length) + " shown";
    more.hidden = kept.length <= most;
  }

  columns.forEach(({ title, isNumber }, index) => {
    const cell = make("th", isNumber ? "number" : ""), button = make("button", "", title);
    button.addEventListener("click", () => {
      sorted = [index, sorted[0] === index ? -sorted[1] : isNumber ? -1 : 1];
      draw();
    });
    cell.append(button);
    head.append(cell);
  });
  const anew = () => { most = ROWS; draw(); };
  input.addEventListener("input", anew);
  select.addEventListener("change", anew);
  more.addEventListener("click", () => { most += 10 * ROWS; draw(); });
  tools.append(input, select, told);
  scroll.append(grid);
  host(into).append(tools, scroll, more);
  draw();
}

function findingsOfCounts(found) {
  return found.flatMap((count, index) => (count ? [index] : []));
}

function tables() {
  table("directories", [
    { title: "Directory", value: (row) => row[0], cell: (row) => name(row[0]) },
    { title: "Names", value: (row) => row[1], cell: (row) => number.format(row[1]), isNumber: true },
    { title: "Offend", value: (row) => row[2], cell: (row) => number.format(row[2]), isNumber: true },
    { title: "Others", value: (row) => row[3], cell: (row) => number.format(row[3]), isNumber: true },
    {
      title: "Most of it", value: (row) => findings[worstOf(row[4])].label,
      cell: (row) => [swatch(worstOf(row[4])), words(findings[worstOf(row[4])].label)],
    },
    { title: "Likely in", value: (row) => row[5] || "", cell: (row) => row[5] || "" },
  ], data.worst, (row) => row[0] + " " + (row[5] || ""), (row) => findingsOfCounts(row[4]), [2, -1]);
  table("names", [
    { title: "Name", value: (row) => row[0], cell: (row) => name(row[0]) },
    {
      title: "May read", value: (row) => (row[3].length ? row[3][0][1] : ""),
      cell: (row) => row[3].map(([charset, text, confidence, basis]) => {
        const reading = make("span", "reading");
        reading.append(name(text), make("span", "charset", charset + ", " + percent(confidence) + " " + basis));
        return reading;
      }),
    },
    {
      title: "Found", value: (row) => row[2][0][1],
      cell: (row) => row[2].map(([finding, what]) => {
        const line = make("span", "what");
        line.append(swatch(finding), what);
        return line;
      }).concat(row[4] ? [make("span", "what", "beside"), name(row[4])] : []),
    },
    { title: "Directory", value: (row) => row[1], cell: (row) => name(row[1]) },
  ], data.names, (row) => [row[0], row[1], row[4] || "", ...row[3].map((reading) => reading[1])].join(" "),
  (row) => row[2].map(([finding]) => finding), [0, 1]);
}

function unread() {
  host("unread").hidden = !whole.unread && !whole.left_out;
  for (const [path, why] of data.unread) {
    const line = make("div", "");
    line.append(name(path), ": " + why);
    host("failures").append(line);
  }
  if (whole.unread > data.unread.length) {
    host("failures").append(make("div", "", number.format(whole.unread - data.unread.length) + " more"));
  }
  if (whole.left_out) {
    host("failures").append(make("div", "", number.format(whole.left_out) + " directories on other mounts were left out"));
  }
}

summary();
legend();
kinds();
charsets();
tables();
unread();
// One root alone needs no box of its own.
show(places[0].below.length === 1 ? places[0].below[0] : 0);
addEventListener("resize", () => show(shown));
