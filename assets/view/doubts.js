
/* Going through what was given and what is not sure. */

const doubts = {
  at: [0, 0], // the frame and the target that was gone to last
  key: "",
  onGo: () => {},

  /* The targets that are gone through: all, or the only one that is shown. */
  targets() {
    return stage.solo === null ? [...store.targets.keys()] : [stage.solo];
  },

  /* The stretch whose worst frame comes next, or is the last before this one. */
  next(forward) {
    const { position } = store.status;
    // Several targets may be worst in the same frame: one after the other.
    const here = this.at[0] === position ? this.at : [position, forward ? Infinity : -1];
    const order = ({ worst, id }) => worst - here[0] || id - here[1];
    const all = store.doubtful(this.targets());
    return forward ? all.find((span) => order(span) > 0) : all.findLast((span) => order(span) < 0);
  },

  /* Goes to it, and selects its target. */
  async go(forward) {
    const found = this.next(forward);
    if (!found) {
      const partly = unfinished(this.targets());
      const words = `no doubtful frame ${forward ? "after" : "before"} this one`;
      return panel.say(`${words}${partly && forward ? `; ${partly}: play on` : ""}`, Boolean(partly && forward));
    }
    await this.show(found);
  },

  async show({ id, worst, from, until, state }) {
    if (!(await ask({ do: "seek", position: worst }))) return;
    this.at = [worst, id];
    select(id);
    const range = from === until ? "" : `, from frame ${from} to ${until}`;
    panel.say(`${store.called(id)} is ${STATES[state].word} at frame ${worst}${range}`);
  },

  /* Goes to the next given box, or the one before: of the selected target, or of all. */
  given(forward) {
    const { position } = store.status;
    const of = stage.selected === null ? this.targets() : [stage.selected];
    const all = of.flatMap((id) => [...store.targets.get(id).marks.keys()]);
    const beyond = all.filter((at) => (forward ? at > position : at < position));
    if (!beyond.length) return panel.say(`no box was given ${forward ? "after" : "before"} this frame`);
    return ask({ do: "seek", position: forward ? Math.min(...beyond) : Math.max(...beyond) });
  },

  /* The list of the stretches. */
  draw() {
    if (!byId("spans-box").open) return;
    const all = store.doubtful(this.targets());
    const shown = all.slice(0, MAX_SPANS);
    const key = JSON.stringify(shown);
    if (key === this.key) return;
    this.key = key;
    byId("no-spans").hidden = all.length > 0;
    byId("spans").replaceChildren(...shown.map((span) => {
      const { id, from, until, worst, state } = span;
      const [row, button] = [document.createElement("li"), document.createElement("button")];
      button.type = "button";
      const range = from === until ? "" : ` (${from} to ${until})`;
      button.textContent = `${store.nameOf(id)} ${STATES[state].word}: ${worst}${range}`;
      button.addEventListener("click", () => this.show(span));
      row.append(button);
      return row;
    }));
  },
};

const MAX_SPANS = 100; // in the list
