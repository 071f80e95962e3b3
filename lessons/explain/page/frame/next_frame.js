// Work that is done once before the browser draws the next frame, however often it was asked for.

const works = new Map(); // what to do, with the node that it draws

function doAll() {
  const now = [...works];
  works.clear();
  for (const [work, node] of now) {
    if (node.isConnected) work();
  }
}

// Nothing is done for a node that has left the page by then.
export function beforeNextFrame(node, work) {
  if (works.size === 0) requestAnimationFrame(doAll);
  works.set(work, node);
}
