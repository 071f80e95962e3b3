// Work for when the browser has nothing else to do.

const requestIdle = globalThis.requestIdleCallback ?? ((work) => setTimeout(work));
const longestWait = 200; // milliseconds
const cancelIdle = globalThis.cancelIdleCallback ?? clearTimeout;

export class IdleWork {
  constructor() {
    this.pending = new Map();
  }

  add(work) {
    const run = () => {
      this.pending.delete(id);
      work();
    };
    const id = requestIdle(run, { timeout: longestWait });
    this.pending.set(id, work);
  }

  // Forgets what was not done yet.
  cancel() {
    for (const id of this.pending.keys()) cancelIdle(id);
    this.pending.clear();
  }

  // Does at once what is left, and what that adds.
  finish() {
    while (this.pending.size > 0) {
      const works = [...this.pending.values()];
      this.cancel();
      for (const work of works) work();
    }
  }
}
