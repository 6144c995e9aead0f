"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const token = new URLSearchParams(location.search).get("token") || "";
  const WAIT = 2000;
  const OUTBOX = "rankscope.unsaved.";

  let rater = null;
  let terms = null;
  let current = null; // the item that keys grade
  let busy = false;
  let panelName = null;
  let trail = []; // keys of items that this tab showed
  let place = -1;
  let singleKeys = true;

  // --- small things

  const make = (tag, text, kind) => {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const button = (text, action, kind) => {
    const element = make("button", text, kind);
    element.type = "button";
    element.addEventListener("click", action);
    return element;
  };
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  const count = (number, noun) =>
    `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  const stored = (key, value) => {
    try {
      if (value === undefined) return localStorage.getItem(key);
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // a browser that keeps nothing: then nothing is kept
    }
    return null;
  };
  const say = (text, kind, unseen) => {
    const status = byId("status");
    status.className = kind || "";
    status.textContent = text;
    if (unseen) status.append(make("span", ` ${unseen}`, "unseen"));
  };
  const alarm = (text) => {
    const alert = byId("alert");
    if (alert.textContent !== text) alert.textContent = text;
  };
  const named = (judgment) => {
    if (judgment.cannot) return "cannot judge";
    const meant = terms.grades.find((each) => each.grade === judgment.grade);
    return meant && meant.label ? `${judgment.grade} ${meant.label}` : `${judgment.grade}`;
  };
  const titleOf = (item) => item.document.title || item.document.id;

  // --- the server

  class Refused extends Error {}
  class Stranger extends Error {}
  class Gone extends Error {}
  class Failing extends Gone {}

  async function ask(request, body) {
    let response, answer;
    try {
      response = await fetch(`/api/${request}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Rankscope-Token": token },
        body: JSON.stringify({ rater, ...body }),
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        signal: AbortSignal.timeout(20000),
      });
      answer = await response.json();
    } catch {
      throw new Gone("the server does not answer");
    }
    if (response.status === 403) throw new Stranger(answer.error);
    if (response.status >= 500) throw new Failing(answer.error);
    if (!response.ok) throw new Refused(answer.error);
    return answer;
  }

  const RESTART = "start the same rankscope judge command again";
  function trouble(error, unsaved) {
    const kept = unsaved
      ? `NOT SAVED YET: ${named(unsaved)} for “${unsaved.title}”. It is kept in this browser and `
      : "";
    if (error instanceof Stranger) {
      const where = kept ? `${kept}will be saved there. ` : "";
      alarm(`${where}The server was started again: open the link that it printed now.`);
    } else {
      const again = kept ? `${kept}sent again until it is saved. ` : "";
      const remedy = error instanceof Failing ? "" : ` If it was stopped: ${RESTART}.`;
      alarm(`${again}Problem: ${error.message}.${remedy} What was shown as saved is safe.`);
    }
  }

  /* Ask until there is an answer; refusals are shown, and give null. */
  async function asked(request, body) {
    for (;;) {
      try {
        const answer = await ask(request, body);
        alarm("");
        return answer;
      } catch (error) {
        if (error instanceof Refused) {
          say(error.message, "warned");
          return null;
        }
        trouble(error);
        await pause(WAIT);
      }
    }
  }

  async function working(task) {
    if (busy) {
      say("Still saving: that key was not used. Press it again.", "warned");
      return;
    }
    busy = true;
    document.body.dataset.busy = "true";
    try {
      await task();
    } finally {
      busy = false;
      document.body.dataset.busy = "false";
    }
  }

  // --- saving

  const unsaved = () => {
    const entries = [];
    try {
      for (let at = 0; at < localStorage.length; at += 1) {
        const key = localStorage.key(at);
        if (key.startsWith(OUTBOX)) entries.push(JSON.parse(localStorage.getItem(key)));
      }
    } catch {
      return [];
    }
    return entries;
  };

  /* Send one judgment until the server says that it is on the disk. */
  async function send(entry) {
    for (;;) {
      try {
        const answer = await ask("judge", entry);
        stored(OUTBOX + entry.id, null);
        alarm("");
        return answer;
      } catch (error) {
        if (error instanceof Refused) {
          stored(OUTBOX + entry.id, null);
          alarm("");
          return { refused: error.message };
        }
        trouble(error, entry);
        say("Not saved yet: sent again and again, see above.", "warned");
        await pause(WAIT);
      }
    }
  }

  async function sendEarlier() {
    const entries = unsaved();
    let saved = 0;
    for (const entry of entries) {
      const answer = await send({ ...entry, next: false });
      if (answer.refused) {
        alarm(`NOT SAVED: ${named(entry)} for “${entry.title}”, from before the restart. `
          + `Problem: ${answer.refused}.`);
        return false;
      }
      saved += 1;
    }
    if (saved) say(`Saved now: ${count(saved, "judgment")} from before the restart.`, "saved");
    return true;
  }

  const judge = (grade) => working(async () => {
    if (!current) return;
    const target = current;
    const cannot = grade === null;
    const known = target.judged ? target.judged.reason : "";
    const reason = byId("reason-row").hidden ? known : byId("reason").value;
    const entry = {
      id: crypto.randomUUID(), key: target.key, grade, cannot, reason, rater,
      title: titleOf(target).slice(0, 80), next: true,
    };
    stored(OUTBOX + entry.id, JSON.stringify(entry));
    say(`Saving ${named(entry)} …`);
    const answer = await send(entry);
    if (answer.refused) {
      say(`Not saved: ${answer.refused}.`, "warned");
      return;
    }
    target.judged = answer.saved;
    closeReason();
    visit(answer);
    say(`Saved: ${named(answer.saved)}.`, "saved", current ? `Next: ${titleOf(current)}` : "");
  });

  const undo = () => working(async () => {
    const answer = await asked("undo", { id: crypto.randomUUID() });
    if (!answer) return;
    if (!answer.item) {
      progress(answer.progress);
      say("Undone; that document is not in this pool.", "warned");
      return;
    }
    visit(answer);
    say(`Undone: ${named(answer.undone)}. Judge again.`);
    if (answer.undone.reason) openReason(answer.undone.reason, false);
  });

  // --- one document

  function text(parent, tag, shown, kind) {
    const element = make(tag, shown, kind);
    element.dir = "auto";
    parent.append(element);
    return element;
  }

  function drawQuery(item) {
    byId("query").hidden = false;
    byId("query-id").textContent = item.query.id;
    byId("query-text").textContent = item.query.text || item.query.id;
    const needs = byId("needs");
    needs.replaceChildren();
    const whole = text(needs, "p", item.query.text, "need");
    whole.id = "query-whole";
    ifClamped();
    for (const need of item.query.needs) {
      const block = make("div", null, "need");
      block.append(make("strong", need.name.replaceAll("_", " ")));
      text(block, "p", need.text);
      needs.append(block);
    }
  }

  /* The heading shows few lines of a query: below it all of it is shown where that is not all. */
  function ifClamped() {
    const heading = byId("query-text");
    const whole = byId("query-whole");
    if (whole) whole.hidden = heading.scrollHeight <= heading.clientHeight + 1;
  }
  window.addEventListener("resize", ifClamped);

  function drawDocument(article, item) {
    article.replaceChildren();
    const shown = item.document;
    const id = make("p", "Document ", "label");
    const code = make("code", shown.id);
    code.dir = "auto";
    id.append(code);
    article.append(id);
    if (shown.title) text(article, "h2", shown.title);
    else article.append(make("h2", "Untitled document"));
    if (shown.text) text(article, "p", shown.text, "text");
    if (shown.fields.length) {
      const fields = make("dl");
      for (const field of shown.fields) {
        fields.append(make("dt", field.name.replaceAll("_", " ")));
        const value = make("dd");
        fields.append(value);
        text(value, "div", field.text);
      }
      article.append(fields);
    }
    if (!shown.text && !shown.fields.length) {
      article.append(make("p", shown.title
        ? "Only the title is known; give the documents with --corpus."
        : "Nothing is known but the id; give the documents with --corpus.", "missing"));
    }
  }

  function before(article, item) {
    if (!item.judged) return;
    const why = item.judged.reason ? ` – ${item.judged.reason}` : "";
    article.append(make("p", `You judged this: ${named(item.judged)}${why}`, "before"));
  }

  function marks() {
    const judged = current && current.judged;
    for (const each of byId("grades").children) {
      const chosen = judged && (each.dataset.grade === "x"
        ? judged.cannot : String(judged.grade) === each.dataset.grade);
      each.setAttribute("aria-pressed", chosen ? "true" : "false");
    }
  }

  function progress(reached) {
    const bar = byId("progress");
    bar.max = Math.max(reached.total, 1);
    bar.value = reached.judged;
    const query = reached.query
      ? ` · ${reached.query.judged} of ${reached.query.total} for this query` : "";
    byId("progress-text").textContent =
      `${reached.judged.toLocaleString("en")} of ${reached.total.toLocaleString("en")}${query}`;
    byId("act-undo").setAttribute("aria-disabled", reached.can_undo ? "false" : "true");
  }

  function only(name) {
    for (const each of ["welcome", "card", "done"]) byId(each).hidden = each !== name;
    byId("desk").hidden = name === "welcome";
    byId("query").hidden = name !== "card";
    for (const each of ["grades", "act-reason", "act-skip"]) byId(each).hidden = name !== "card";
  }

  function draw() {
    only("card");
    drawQuery(current);
    const article = byId("document");
    drawDocument(article, current);
    before(article, current);
    marks();
  }

  function finished(reached) {
    current = null;
    only("done");
    const all = reached.total ? `All ${count(reached.total, "pair")} are judged, ${rater}.`
      : "There is nothing left to judge in this pool.";
    byId("done-text").textContent =
      `${all} Thank you. “Back” and “Undo” still work; export the judgments.`;
    byId("done-title").focus();
  }

  /* Show what the server gave, and remember it for “back”. */
  function visit(answer, moving) {
    progress(answer.progress);
    if (!answer.item) {
      place = trail.length;
      finished(answer.progress);
      return;
    }
    current = answer.item;
    if (!moving && trail[place] !== current.key) {
      trail = trail.slice(0, place + 1);
      trail.push(current.key);
      place = trail.length - 1;
    }
    closeReason();
    draw();
    window.scrollTo(0, 0);
  }

  const skip = () => working(async () => {
    if (place < trail.length - 1) {
      place += 1;
      const again = await asked("item", { key: trail[place] });
      if (again) visit(again, true);
      return;
    }
    const answer = await asked("next", { skip: current ? current.key : null });
    if (!answer) return;
    const same = current && answer.item && answer.item.key === current.key;
    visit(answer);
    say(same ? "This is the only one left." : "Skipped; it comes again at the end.");
  });

  const back = () => working(async () => {
    if (place <= 0) {
      say("This is the first document of this tab.", "warned");
      return;
    }
    place -= 1;
    const answer = await asked("item", { key: trail[place] });
    if (answer) {
      visit(answer, true);
      say("Back: a new grade takes the place of the one before.");
    }
  });

  // --- the reason

  function openReason(value, focus) {
    if (!current) return;
    byId("reason-row").hidden = false;
    byId("act-reason").setAttribute("aria-expanded", "true");
    byId("reason").value = value !== undefined ? value
      : (current.judged ? current.judged.reason : "");
    if (focus !== false) byId("reason").focus({ preventScroll: true });
  }
  function closeReason() {
    byId("reason-row").hidden = true;
    byId("act-reason").setAttribute("aria-expanded", "false");
    byId("reason").value = "";
  }
  const toggleReason = () => {
    if (byId("reason-row").hidden) openReason();
    else if (document.activeElement === byId("reason")) closeReason();
    else byId("reason").focus({ preventScroll: true });
  };

  // --- panels

  const narrow = matchMedia("(max-width: 60rem)");
  function cover() {
    document.body.dataset.panel = panelName === null ? "false" : "true";
    const covers = panelName !== null && narrow.matches;
    for (const each of ["top", "main", "desk"]) byId(each).inert = covers;
    ifClamped();
  }
  narrow.addEventListener("change", cover);

  function openPanel(name, title, fill) {
    if (panelName === name) {
      closePanel();
      return;
    }
    for (const each of ["guidelines", "export", "help"]) {
      byId(`tool-${each}`).setAttribute("aria-expanded", each === name ? "true" : "false");
    }
    panelName = name;
    byId("panel-title").textContent = title;
    const body = byId("panel-body");
    body.replaceChildren();
    byId("panel").hidden = false;
    fill(body);
    cover();
    byId("panel-title").focus({ preventScroll: !narrow.matches });
    closeMenu();
  }
  function closePanel() {
    if (!panelName) return;
    const from = byId(`tool-${panelName}`);
    from.setAttribute("aria-expanded", "false");
    panelName = null;
    byId("panel").hidden = true;
    cover();
    if (from.offsetParent) from.focus({ preventScroll: true });
    else byId("main").focus({ preventScroll: true });
  }

  const guidelines = () => openPanel("guidelines", "Guidelines", (body) => {
    body.append(make("p", terms.guidelines, "prose"));
  });

  function help() {
    openPanel("help", "Keys", (body) => {
      const table = make("table", null, "keys");
      const rows = make("tbody");
      const keys = [
        ...terms.grades.map((each) => [String(each.grade), `grade ${each.label}, save, next`]),
        ["x", "cannot judge, save, next"], ["u", "undo your last judgment"],
        ["r", "reason: type it, Enter, then the grade"], ["n", "skip"], ["p", "back"],
        ["g", "guidelines"], ["e", "export"], ["?", "these keys"], ["Esc", "close"],
      ];
      for (const [key, meaning] of keys) {
        const row = make("tr");
        const cell = make("td");
        cell.append(make("kbd", key));
        row.append(cell, make("td", meaning));
        rows.append(row);
      }
      table.append(rows);
      body.append(table);
      const line = make("p", null, "choice");
      const box = make("input");
      box.type = "checkbox";
      box.id = "single-keys";
      box.checked = singleKeys;
      box.addEventListener("change", () => {
        singleKeys = box.checked;
        stored("rankscope.keys", singleKeys ? null : "off");
      });
      const label = make("label", "Single keys work (turn off for speech input)");
      label.htmlFor = "single-keys";
      line.append(box, label);
      body.append(line);
      body.append(make("p", `Judgments go to ${terms.log}, each one before “Saved” is shown. `
        + "You see neither systems nor ranks nor what others said.", "quiet"));
    });
  }

  function exporting() {
    openPanel("export", "Export", (body) => {
      body.append(make("p", "Of several raters qrels hold the median grade, of an even number the "
        + "lower of the two in the middle. What nobody could judge is left out. How far raters "
        + "agree says rankscope diagnose --ratings, of the ratings."));
      const line = make("div", null, "entry");
      line.append(...downloads());
      body.append(line);
    });
  }

  const downloads = () => [
    [".qrels", "TREC qrels"], [".tsv", "BEIR qrels (tsv)"], [".csv", "Ratings (csv)"],
    [".jsonl", "Ratings (jsonl)"],
  ].map(([suffix, title]) => button(title, () => download(suffix)));

  async function download(suffix) {
    const answer = await asked("export", { suffix });
    if (!answer) return;
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([answer.content], { type: "text/plain" }));
    link.download = answer.name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    const also = answer.written ? ` ${answer.written} is written, too.` : "";
    say(`Downloaded ${answer.name}.${also}`, "saved");
  }

  // --- menu, theme, rater

  const closeMenu = () => {
    byId("tools").classList.remove("open");
    byId("menu").setAttribute("aria-expanded", "false");
  };
  byId("menu").addEventListener("click", () => {
    const open = byId("tools").classList.toggle("open");
    byId("menu").setAttribute("aria-expanded", open ? "true" : "false");
  });

  const THEMES = ["auto", "light", "dark"];
  function theme(name) {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    byId("tool-theme").textContent = `Theme: ${name}`;
    stored("rankscope.theme", name === "auto" ? null : name);
  }
  byId("tool-theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || "auto";
    theme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  });

  async function welcome() {
    current = null;
    only("welcome");
    closeMenu();
    byId("tool-rater").hidden = true;
    byId("raters").replaceChildren(...terms.raters.map((each) => {
      const option = make("option");
      option.value = each;
      return option;
    }));
    byId("rater").value = rater || "";
    byId("rater").focus();
  }

  async function begin(name) {
    let answer;
    rater = name;
    try {
      answer = await ask("state", {});
    } catch (error) {
      if (!(error instanceof Refused)) trouble(error);
      byId("welcome-problem").textContent = error.message;
      return;
    }
    alarm("");
    byId("welcome-problem").textContent = "";
    rater = answer.rater;
    terms = answer;
    trail = [];
    place = -1;
    byId("tool-rater").textContent = `Rater: ${rater}`;
    byId("tool-rater").hidden = false;
    while (!await sendEarlier()) await pause(3 * WAIT); // time to read what was not saved
    const first = await asked("next", {});
    if (first) visit(first);
    byId("main").focus();
  }

  function drawGrades() {
    const row = byId("grades");
    row.replaceChildren();
    for (const each of [...terms.grades, { grade: null, label: "cannot judge" }]) {
      const key = each.grade === null ? "x" : String(each.grade);
      const choice = button(null, () => judge(each.grade), each.grade === null ? "cannot" : "");
      choice.dataset.grade = key;
      choice.setAttribute("aria-pressed", "false");
      choice.append(make("kbd", key), make("span", each.label));
      row.append(choice);
    }
    row.classList.toggle("many", terms.grades.length > 5);
  }

  // --- keys

  const ACTIONS = {
    u: undo, r: toggleReason, n: skip, p: back, g: guidelines, e: exporting, "?": help,
    x: () => judge(null),
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (byId("tools").classList.contains("open")) closeMenu();
      else if (event.target === byId("reason")) {
        closeReason();
        byId("main").focus();
      } else closePanel();
      return;
    }
    if (event.target === byId("reason") && event.key === "Enter") {
      event.preventDefault();
      byId("main").focus({ preventScroll: true });
      say("Reason kept: now give the grade.");
      return;
    }
    const isTyping = event.target.matches("input[type=text], textarea, select");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !singleKeys) return;
    if (byId("card").hidden && byId("done").hidden) return;
    let key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const digit = /^Digit([0-9])$/.exec(event.code);
    if (digit && !event.shiftKey && !ACTIONS[key]) [, key] = digit; // digits need Shift on some
    const isGrade = /^[0-9]$/.test(key);
    if (!isGrade && !ACTIONS[key]) return;
    event.preventDefault();
    if (panelName && narrow.matches && !"ge?".includes(key)) {
      closePanel(); // it covers the document: nothing is judged that is not seen
      return;
    }
    if (event.repeat) {
      say("A key that is held down counts once.", "warned");
      return;
    }
    if (!isGrade) {
      ACTIONS[key]();
      return;
    }
    if (byId("card").hidden) return;
    const grade = Number(key);
    if (terms.grades.some((each) => each.grade === grade)) judge(grade);
    else say(`There is no grade ${key}.`, "warned");
  });

  const clicks = {
    "tool-guidelines": guidelines, "tool-export": exporting, "tool-help": help, "panel-close": closePanel, "act-undo": undo,
    "act-reason": toggleReason, "act-back": back, "act-skip": skip, "tool-rater": welcome,
  };
  for (const [id, action] of Object.entries(clicks)) {
    byId(id).addEventListener("click", () => {
      closeMenu();
      action();
    });
  }
  const entered = () => {
    const name = byId("rater").value.trim();
    if (name) begin(name);
    else byId("welcome-problem").textContent = "Type a name first.";
  };
  byId("begin").addEventListener("click", entered);
  byId("rater").addEventListener("keydown", (event) => {
    if (event.key === "Enter") entered();
  });
  window.addEventListener("beforeunload", (event) => {
    if (busy && unsaved().length) event.preventDefault();
  });

  // --- the beginning

  async function open() {
    theme(THEMES.includes(stored("rankscope.theme")) ? stored("rankscope.theme") : "auto");
    singleKeys = stored("rankscope.keys") !== "off";
    byId("done-actions").append(...downloads());
    terms = await asked("state", {});
    byId("progress-text").textContent = count(terms.total, "pair") + " to judge";
    document.title = `Judging ${terms.pool} – rankscope`;
    byId("reason").maxLength = terms.longest_reason;
    byId("rater").maxLength = terms.longest_rater;
    drawGrades();
    if (terms.rater) await begin(terms.rater);
    else await welcome();
  }
  open();
})();
