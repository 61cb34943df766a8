
/* Commands to the program, and its news. */

/* Asks the server to do something. Gives `error`, a sentence, where that is not done, and `said` where it is done but
   something is odd about it. */
async function order(what) {
  try {
    const body = JSON.stringify(what);
    const headers = { "Content-Type": "application/json" };
    // A command for this clip is not for the next one.
    const answer = await fetch(`/command?run=${store.status.run}`, { method: "POST", headers, body });
    return await answer.json();
  } catch {
    return { error: "the program does not answer" };
  }
}

/* The parts of the state that are already known. */
const known = { serial: 0, changes: 0, picture: 0 };

/* The next message: its JSON, its JPEG and the levels of its map. */
async function news(map, signal) {
  const query = new URLSearchParams({ after: known.serial, changes: known.changes, picture: known.picture });
  if (map !== null) query.set("map", map);
  const answer = await fetch(`/news?${query}`, { signal });
  if (!answer.ok) throw new Error((await answer.json()).error);
  const bytes = await answer.arrayBuffer();
  const length = new DataView(bytes).getUint32(0);
  const told = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  // Null of a picture that is shown already; empty of a frame that could not be read.
  const picture = () => new Blob([new Uint8Array(bytes, 4 + length, told.jpeg)], { type: "image/jpeg" });
  const jpeg = told.jpeg === null ? null : picture();
  return { told, jpeg, levels: new Uint8Array(bytes, 4 + length + (told.jpeg ?? 0), told.levels) };
}

/* The question for news that is under way. */
const asking = {
  end: null,
  anew: false, // whether it is to be answered at once, whatever this page knows
  now() {
    if (this.anew) known.serial = 0;
    this.anew = false;
    this.end = new AbortController();
    return news(mapTarget(), this.end.signal);
  },
};

const visible = () => document.hidden
  && new Promise((shown) => document.addEventListener("visibilitychange", shown, { once: true }));
const pause = (ms) => new Promise((later) => setTimeout(later, ms));

let done = false; // whether the program has what it asked for and listens no more

/* Takes message after message; the next is asked for while a frame is being drawn. */
async function watch() {
  let [begun, silent] = [null, false];
  for (;;) {
    await visible();
    try {
      const { told, jpeg, levels } = await (begun ?? asking.now());
      if (done) return;
      if (silent) panel.say("The program answers again");
      silent = false;
      // A message that leaves changes out is followed by the next one at once.
      const serial = told.more ? 0 : told.serial;
      Object.assign(known, { serial, changes: told.changes_until, picture: told.picture ?? 0 });
      begun = document.hidden ? null : asking.now();
      begun?.catch(() => {});
      // A frame and its boxes are shown together.
      const image = jpeg?.size ? await createImageBitmap(jpeg) : null;
      store.take(told, levels);
      if (jpeg) {
        stage.image?.close();
        stage.image = image;
      }
      stage.colour(store.map, store.levels);
      redraw();
    } catch (error) {
      if (done) return;
      begun = null;
      if (error.name === "AbortError") continue;
      silent = true;
      // An answer to a question that names the last message would wait for the next one.
      Object.assign(known, { serial: 0, picture: 0 });
      const why = error.constructor === Error ? error.message : "The program does not answer";
      panel.say(`${why}; trying again`, true);
      await pause(700);
    }
  }
}
