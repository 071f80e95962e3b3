// What was made before, as long as the things that it is made of stay the same.
export class Kept {
  known = new Map();

  get(name, things, make) {
    const known = this.known.get(name);
    if (known?.things.length === things.length && things.every((thing, i) => thing === known.things[i])) return known.made;
    const made = make();
    this.known.set(name, { things, made });
    return made;
  }
}
