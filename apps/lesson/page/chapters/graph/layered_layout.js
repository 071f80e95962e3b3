// Places for the nodes of a graph without cycles, in rows: what is read stands above what reads it.
// An edge that passes a row has a place of its own there.

const sweeps = 60;
const pull = { between: 6, past: 1 }; // of an edge from row to row, and of one that passes a row

export const total = (numbers) => numbers.reduce((sum, x) => sum + x, 0);

// nodes: [{id, width, height, below: room under it}]; edges: [{from, to, width: where it passes a
// row, isFirm: whether it should be straight}], those into a node in the order in which they should
// stand. Gives the nodes x and y, their middle; the edges bends: [{x, top, bottom}], from above;
// returns {width, height} of all.
export function layOut(nodes, edges, { gapX, gapY }) {
  const rank = ranksOf(nodes, edges);
  const items = itemsOf(nodes, edges, rank);
  const rows = orderedRows(items);
  placeAcross(rows, gapX);
  for (const edge of edges) straighten(items.filter((item) => item.edge === edge), rows, gapX);
  const width = moveToMargin(rows);
  const height = placeDown(rows, gapY);
  for (const { item, node, edge } of items) {
    if (node) Object.assign(node, { x: item.x, y: item.y });
    else edge.bends.push({ x: item.x, top: item.y - item.height / 2, bottom: item.bottom });
  }
  return { width, height };
}

// The longest way from above. What leads from a node that reads nothing to one reader, and nowhere
// else, stands right above that.
function ranksOf(nodes, edges) {
  const rank = new Map(nodes.map(({ id }) => [id, 0]));
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (const { from, to } of edges) {
      if (rank.get(to) > rank.get(from)) continue;
      rank.set(to, rank.get(from) + 1);
      isChanged = true;
    }
  }
  const into = (id) => edges.filter(({ to }) => to === id);
  const outOf = (id) => edges.filter(({ from }) => from === id);
  for (const { id } of nodes.filter((node) => into(node.id).length === 0)) {
    const chain = [id];
    let readers = outOf(id);
    while (readers.length === 1 && into(readers[0].to).length === 1) {
      chain.push(readers[0].to);
      readers = outOf(readers[0].to);
    }
    const below = Math.min(...readers.map(({ to }) => rank.get(to)));
    if (readers.length === 0) continue;
    chain.toReversed().forEach((each, i) => rank.set(each, below - 1 - i));
  }
  return rank;
}

// What takes room in the rows: nodes, and bends of edges. Each knows what is above it and below.
function itemsOf(nodes, edges, rank) {
  const entry = (row, width, height, below) => ({ row, width, height, below, up: [], down: [] });
  const found = nodes.map((node) => {
    const { width, height, below = 0 } = node;
    return { node, item: entry(rank.get(node.id), width, height, below) };
  });
  const itemOf = new Map(found.map(({ node, item }) => [node.id, item]));
  for (const edge of edges) {
    edge.bends = [];
    let last = itemOf.get(edge.from);
    const connect = (item) => {
      const isPast = item.height === 0 || last.height === 0 || !edge.isFirm;
      const weight = isPast ? pull.past : pull.between;
      last.down.push({ item, weight });
      item.up.push({ item: last, weight });
      last = item;
    };
    for (let row = rank.get(edge.from) + 1; row < rank.get(edge.to); row++) {
      const item = entry(row, edge.width, 0, 0);
      found.push({ edge, item });
      connect(item);
    }
    connect(itemOf.get(edge.to));
  }
  return found;
}

// From below, along what is read, so that few edges cross.
function orderedRows(items) {
  const rows = [];
  const seen = new Set();
  const visit = (item) => {
    if (seen.has(item)) return;
    seen.add(item);
    item.up.forEach((link) => visit(link.item));
    (rows[item.row] ??= []).push(item);
  };
  items.filter(({ item }) => item.down.length === 0).forEach(({ item }) => visit(item));
  return rows;
}

// Each as near as may be to the middle of what it is connected with.
function placeAcross(rows, gap) {
  for (const row of rows) placeRow(row, row.map(() => ({ wanted: 0, weight: 1 })), gap);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const inOrder = sweep % 2 === 0 ? rows : rows.toReversed();
    for (const row of inOrder) {
      const wishes = row.map(({ up, down, x }) => {
        const near = [...up, ...down];
        const weight = total(near.map((link) => link.weight));
        if (weight === 0) return { wanted: x, weight: 1 };
        return { wanted: total(near.map((link) => link.weight * link.item.x)) / weight, weight };
      });
      placeRow(row, wishes, gap);
    }
  }
}

// Least squares with each at its distance from the one before: neighbours that would come too near
// to each other move together.
function placeRow(row, wishes, gap) {
  const apart = apartBy(gap);
  const groups = [];
  let offset = 0;
  row.forEach((item, i) => {
    if (i > 0) offset += apart(row[i - 1], item);
    const { wanted, weight } = wishes[i];
    let group = { x: wanted - offset, weight, items: [{ item, offset }] };
    while (groups.length > 0 && groups.at(-1).x > group.x) {
      const last = groups.pop();
      const both = last.weight + group.weight;
      const x = (last.x * last.weight + group.x * group.weight) / both;
      group = { x, weight: both, items: [...last.items, ...group.items] };
    }
    groups.push(group);
  });
  for (const { x, items } of groups) {
    for (const each of items) each.item.x = x + each.offset;
  }
}

const apartBy = (gap) => (a, b) => (a.width + b.width) / 2 + gap;

// The bends of an edge one below the other, where what stands beside them leaves room.
function straighten(bends, rows, gap) {
  if (bends.length === 0) return;
  const apart = apartBy(gap);
  let [least, most] = [-Infinity, Infinity];
  for (const { item } of bends) {
    const row = rows[item.row];
    const at = row.indexOf(item);
    if (at > 0) least = Math.max(least, row[at - 1].x + apart(row[at - 1], item));
    if (at + 1 < row.length) most = Math.min(most, row[at + 1].x - apart(item, row[at + 1]));
  }
  if (least > most) return;
  const middle = total(bends.map(({ item }) => item.x)) / bends.length;
  for (const { item } of bends) item.x = Math.min(most, Math.max(least, middle));
}

function moveToMargin(rows) {
  const all = rows.flat();
  const left = Math.min(...all.map(({ x, width }) => x - width / 2));
  for (const item of all) item.x -= left;
  return Math.max(...all.map(({ x, width }) => x + width / 2));
}

function placeDown(rows, gap) {
  let top = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((item) => item.height));
    const below = Math.max(...row.map((item) => item.below));
    for (const item of row) {
      item.y = top + height / 2;
      if (item.height === 0) Object.assign(item, { height, bottom: top + height + below });
    }
    top += height + below + gap;
  }
  return top - gap;
}
