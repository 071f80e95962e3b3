// Work that is done once before the browser draws the next frame, however often it was asked for.

const works = new Map(); // what to do, with the node that it draws

// Also what the works ask for. After an error the others have their turn in the frame that follows.
function doAll() {
  try {
    for (const [work, node] of works) {
      works.delete(work);
      if (node.isConnected) work();
    }
  } finally {
    if (works.size > 0) requestAnimationFrame(doAll);
  }
}

// Nothing is done for a node that has left the page by then.
export function beforeNextFrame(node, work) {
  if (works.size === 0) requestAnimationFrame(doAll);
  works.set(work, node);
}
