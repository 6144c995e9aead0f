/* The explorer: a list of all questions, and each question with the answers of several systems. What
   is shown is in the address, so that a link leads to it. */
(() => {
  const { byId, make, button, say, copy, download, csv, tabbed, route, remembered, remember } = rankscope;
  const { visible, fold, wordsOf, marked, snippet, number, signed, short, counted } = explorerTexts;
  const place = byId("explorer");
  if (!place) return;
  const MOST_IN_A_ROW = 5, MOST_SIDE_BY_SIDE = 4;

  let overview, systems, state, shown = [], order = [], list;
  const column = (name) => overview.columns[name];

  /* --- what is shown, and the address -------------------------------------------------------- */

  const SHOWS = { all: "all", worsened: "worse", improved: "better", different: "different", failing: "failing",
    unjudged: "unjudged on top" };
  const SORTS = { loss: "largest loss first", gain: "largest gain first", a: "lowest value first",
    query: "by id", unjudged: "most unjudged first" };
  const plainState = () => {
    const b = overview.baseline && systems.includes(overview.baseline) ? overview.baseline : systems[0];
    const focus = overview.focus && systems.includes(overview.focus) && overview.focus !== b ? overview.focus
      : systems.find((name) => name !== b) ?? systems[0];
    return { measure: overview.measures[0]?.name ?? "", a: focus, b, show: "all", cause: "", field: "", value: "",
      min: "", max: "", find: "", in: "", sort: systems.length > 1 ? "loss" : "a", s: [], ideal: "" };
  };

  const read = (options) => {
    const read = plainState();
    for (const key of Object.keys(read))
      if (key === "s") read.s = options.getAll("s").filter((name) => systems.includes(name)).slice(0, MOST_SIDE_BY_SIDE);
      else if (options.has(key)) read[key] = options.get(key);
    const plain = plainState();
    if (!overview.measures.some((measure) => measure.name === read.measure)) read.measure = plain.measure;
    for (const side of ["a", "b"]) if (!systems.includes(read[side])) read[side] = plain[side];
    if (read.a === read.b && systems.length > 1)
      read.b = systems.find((name) => name !== read.a);
    if (!Object.hasOwn(SHOWS, read.show)) read.show = "all";
    if (!Object.hasOwn(SORTS, read.sort)) read.sort = plain.sort;
    if (read.cause && !overview.causes.includes(read.cause)) read.cause = "";
    if (read.field && !overview.fields.some((field) => field.name === read.field)) read.field = read.value = "";
    return read;
  };

  const written = (path, of) => {
    const plain = plainState(), options = new URLSearchParams();
    for (const [key, value] of Object.entries(of)) {
      if (key === "s") value.forEach((name) => options.append("s", name));
      else if (String(value) !== String(plain[key])) options.set(key, value);
    }
    const text = options.toString().replaceAll("+", "%20");
    return `#${path}${text ? `?${text}` : ""}`;
  };
  const listLink = (of = state) => written("queries", of);
  const queryLink = (query, of = state) => written(`query/${encodeURIComponent(overview.queries[query])}`, of);

  const change = (changes) => {
    const next = { ...state, ...changes };
    history.replaceState({ ...history.state, y: scrollY }, "", listLink(next));
    rankscope.follow();
  };

  /* --- which queries, in which order ----------------------------------------------------------- */

  const measureAt = (name) => Math.max(overview.measures.findIndex((measure) => measure.name === name), 0);
  const systemAt = (name) => systems.indexOf(name);
  const valuesOf = (system, measure = state.measure) => column(`value-${systemAt(system)}-${measureAt(measure)}`);
  const isUp = () => overview.measures[measureAt(state.measure)]?.up !== false;

  const difference = (query) => valuesOf(state.a)[query] - valuesOf(state.b)[query];
  const gain = (query) => isUp() ? difference(query) : -difference(query);

  const fails = (query) => {
    if (overview.causes.length) return column(`cause-${systemAt(state.a)}`)[query] >= 0;
    const value = valuesOf(state.a)[query];
    return isUp() ? value <= 0 : value > 0;
  };

  const fieldValue = (name, query) => {
    const at = overview.fields.findIndex((field) => field.name === name);
    const code = at < 0 ? -1 : column(`field-${at}`)[query];
    return code < 0 ? null : overview.fields[at].values[code];
  };

  let haystack, inDocuments = { text: null, queries: null };
  const folded = () => haystack ??= overview.queries.map((id, at) => fold(`${id} ${overview.texts[at] ?? ""}`));

  const searchDocuments = async (text) => {
    const words = fold(text).split(/\s+/).filter(Boolean), hits = new Uint8Array(overview.documents);
    await explorerData.allDocuments(overview, (block, first) => {
      block.folded ??= block.ids.map((id, at) => fold(`${id} ${block.titles[at] ?? ""} ${block.texts[at] ?? ""}`));
      block.folded.forEach((line, at) => { if (words.every((word) => line.includes(word))) hits[first + at] = 1; });
    }, (done, all) => { if (all > 20 && done % 20 === 0) status(`searching documents: ${Math.round(100 * done / all)} %`); });
    const queries = new Set();
    await explorerData.allAnswers(overview, (query, _, docs) => {
      for (const doc of docs) if (hits[doc]) { queries.add(query); break; }
    });
    inDocuments = { text, queries };
  };

  const passes = {
    show: (query) => {
      switch (state.show) {
        case "failing": return fails(query);
        case "improved": return gain(query) > 0;
        case "worsened": return gain(query) < 0;
        case "different": return difference(query) !== 0 && !Number.isNaN(difference(query));
        case "unjudged": return column(`unjudged-${systemAt(state.a)}`)[query] > 0;
        default: return true;
      }
    },
    cause: (query) => column(`cause-${systemAt(state.a)}`)[query] === overview.causes.indexOf(state.cause),
    field: (query) => {
      const value = fieldValue(state.field, query);
      if (!state.value) return true;
      if (value === null) return false;
      const field = overview.fields.find((each) => each.name === state.field);
      return field.values.includes(state.value) ? value === state.value : fold(value).includes(fold(state.value));
    },
    range: (query) => {
      const delta = difference(query);
      return !(state.min !== "" && !(delta >= Number(state.min))) && !(state.max !== "" && !(delta <= Number(state.max)));
    },
    find: (query) => {
      const words = fold(state.find).split(/\s+/).filter(Boolean);
      return words.every((word) => folded()[query].includes(word))
        || (state.in === "documents" && inDocuments.queries?.has(query) === true);
    },
  };
  const isOn = {
    show: () => state.show !== "all",
    cause: () => state.cause !== "",
    field: () => state.field !== "" && state.value !== "",
    range: () => state.min !== "" || state.max !== "",
    find: () => state.find.trim() !== "",
  };
  const cleared = {
    show: { show: "all" }, cause: { cause: "" }, field: { field: "", value: "" }, range: { min: "", max: "" },
    find: { find: "", in: "" },
  };

  /** Return what questions are sorted by, rising. */
  const sortKey = () => {
    switch (state.sort) {
      case "query": return (query) => overview.queries[query];
      case "loss": return gain;
      case "gain": return (query) => -gain(query);
      case "unjudged": return (query) => -column(`unjudged-${systemAt(state.a)}`)[query];
      default: return (query) => isUp() ? valuesOf(state.a)[query] : -valuesOf(state.a)[query];
    }
  };

  const collator = new Intl.Collator("en", { numeric: true });
  const sorted = (queries) => {
    const key = sortKey();
    const keyed = queries.map((query) => [key(query), query]);
    const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
    keyed.sort(([left, first], [right, second]) => {
      const gone = isMissing(left) - isMissing(right);  // what has no value comes last
      if (gone || isMissing(left)) return gone || first - second;
      const apart = typeof left === "string" ? collator.compare(left, right) : left - right;
      return apart || first - second;
    });
    return keyed.map(([, query]) => query);
  };

  const select = () => {
    const tests = Object.keys(passes).filter((name) => isOn[name]()).map((name) => passes[name]);
    shown = [];
    for (let query = 0; query < overview.queries.length; query++)
      if (tests.every((test) => test(query))) shown.push(query);
    order = sorted(shown);
  };

  /* --- the list -------------------------------------------------------------------------------- */

  const status = (text) => { byId("count").textContent = text; };
  const option = (value, text, chosen) => make("option", { value, selected: value === chosen }, text);
  const picker = (name, label, values, hint) => make("label", { class: "picker" }, make("span", {}, label),
    make("select", { id: `pick-${name}`, title: hint || null, change: (event) => change({ [name]: event.target.value }) },
      values.map(([value, text]) => option(value, visible(text).slice(0, 80)))));

  let typing, typed = {}; // what was typed in several fields until a pause counts together
  const soon = (changes) => {
    Object.assign(typed, changes);
    clearTimeout(typing);
    typing = setTimeout(() => { const all = typed; typed = {}; change(all); }, 180);
  };

  const controls = () => {
    const several = systems.length > 1, names = systems.map((name) => [name, name]);
    const field = (id, label, attributes, key) => make("label", { class: "picker" }, make("span", {}, label),
      make("input", { id, ...attributes, input: (event) => soon({ [key]: event.target.value }) }));
    const shows = Object.entries(SHOWS).filter(([key]) => (several || !["improved", "worsened", "different"].includes(key))
      && (overview.documents || key !== "unjudged"));
    const sorts = Object.entries(SORTS).filter(([key]) => (several || !["loss", "gain"].includes(key))
      && (overview.documents || key !== "unjudged"));
    const more = [
      picker("measure", "Measure", overview.measures.map(({ name, up }) => [name, up ? name : `${name} ↓`])),
      picker("sort", "Order", sorts),
      overview.causes.length ? picker("cause", "Cause of failure", [["", "any"], ...overview.causes.map((cause) => [cause, cause])]) : null,
      overview.fields.length ? picker("field", "Field", [["", "none"], ...overview.fields.map(({ name }) => [name, name])]) : null,
      overview.fields.length ? make("span", { id: "value-place" }) : null,
      several ? field("min", "Change from", { type: "number", step: "any", size: 5 }, "min") : null,
      several ? field("max", "to", { type: "number", step: "any", size: 5 }, "max") : null,
      overview.documents ? make("label", { class: "check" }, make("input", { type: "checkbox", id: "in-documents",
        change: (event) => change({ in: event.target.checked ? "documents" : "" }) }), " look for words in the documents, too") : null];
    return make("div", { class: "controls" },
      make("div", { class: "row" },
        make("label", { class: "picker grow" }, make("span", {}, "Question contains"), make("input", {
          id: "find", type: "search", autocomplete: "off", spellcheck: "false",
          input: (event) => soon({ find: event.target.value }) })),
        picker("a", several ? "Compare" : "System", names),
        several ? picker("b", "with", names) : null,
        picker("show", "Show", shows)),
      make("details", { class: "filters", id: "filters" }, make("summary", {}, "More filters"), make("div", { class: "row" }, more)),
      make("div", { class: "row status" }, make("span", { id: "count", role: "status" }), make("span", { id: "chips" }),
        make("span", { class: "end" },
          button("Copy", () => copy(tabbed(everything()), "table"), { class: "small", "aria-label": "Copy the questions" }),
          button("CSV", () => download(csv(everything()), "questions.csv", "text/csv"), { class: "small", "aria-label": "Save the questions as CSV" }),
          !overview.documents ? null : button("Judge these", () => exportPool(order), { class: "small",
            title: "Save the unjudged documents on top of both systems as a pool: rankscope judge POOL" }),
          button("Keys", () => help.showModal(), { class: "small", title: "What keys do" }))));
  };

  const valueControl = () => {
    const field = overview.fields.find((each) => each.name === state.field), spot = byId("value-place");
    if (!spot || spot.dataset.field === state.field) return;
    spot.dataset.field = state.field;
    spot.replaceChildren();
    if (!field) return;
    const counts = new Map(), codes = column(`field-${overview.fields.indexOf(field)}`);
    for (const code of codes) if (code >= 0) counts.set(code, (counts.get(code) || 0) + 1);
    const frequent = [...counts].sort((left, right) => right[1] - left[1]).slice(0, 200);
    spot.append(make("label", { class: "picker" }, make("span", {}, "is"), make("input", { id: "value", list: "values",
      type: "search", autocomplete: "off", placeholder: "any", input: (event) => soon({ value: event.target.value }) })),
    make("datalist", { id: "values" }, frequent.map(([code, count]) =>
      make("option", { value: field.values[code].slice(0, 200), label: counted(count, "query") }))));
  };

  const chipTexts = {
    show: () => `${SHOWS[state.show]}${["improved", "worsened", "different"].includes(state.show) ? ` against ${visible(state.b)}` : ""}`,
    cause: () => `cause: ${state.cause}`,
    field: () => `${visible(state.field)}: ${visible(state.value)}`.slice(0, 80),
    range: () => `Δ ${state.min === "" ? "…" : state.min} to ${state.max === "" ? "…" : state.max}`,
    find: () => `“${visible(state.find).slice(0, 40)}”${state.in ? " in documents, too" : ""}`,
  };

  const setControls = () => {
    const set = (id, value) => { const node = byId(id); if (node && node !== document.activeElement) node.value = value; };
    valueControl();
    for (const key of ["measure", "a", "b", "cause", "field", "show", "sort"]) { const node = byId(`pick-${key}`); if (node) node.value = state[key]; }
    const causes = column(`cause-${systemAt(state.a)}`), node = byId("pick-cause");
    if (node) for (const each of node.options) if (each.value) {
      const number = overview.causes.indexOf(each.value);
      each.textContent = `${each.value} (${causes.reduce((sum, cause) => sum + (cause === number), 0)})`;
    }
    for (const key of ["min", "max", "find", "value"]) set(key, state[key]);
    const box = byId("in-documents");
    if (box) box.checked = state.in === "documents";
    const on = Object.keys(isOn).filter((name) => isOn[name]());
    byId("chips").replaceChildren(...on.map((name) => button(`${chipTexts[name]()} ×`, () => change(cleared[name]),
      { class: "chip", "data-chip": name, "aria-label": `Remove the filter ${chipTexts[name]()}` })),
    ...(on.length ? [button("Reset all", () => change(Object.assign({}, ...Object.values(cleared))), { class: "small", id: "reset" })] : []));
    if (on.some((name) => !["show", "find"].includes(name))) byId("filters").open = true;
    status(`${shown.length.toLocaleString("en")} of ${counted(overview.queries.length, "question")}`);
  };

  /** Return all questions that are shown, as rows of texts and numbers. */
  const everything = () => {
    const failing = column(`cause-${systemAt(state.a)}`);
    const value = (name, query) => Number.isNaN(valuesOf(name)[query]) ? "" : valuesOf(name)[query];
    return [["query_id", "text", ...systems.map((name) => `${state.measure} ${name}`), "relevant", "unjudged", "cause"],
      ...order.map((query) => [overview.queries[query], overview.texts[query] ?? "", ...systems.map((name) => value(name, query)),
        column("relevant")[query], column(`unjudged-${systemAt(state.a)}`)[query],
        failing[query] < 0 ? "" : overview.causes[failing[query]]])];
  };

  /** Say how the two systems compare over all questions. */
  const sentence = () => {
    if (systems.length < 2) return `${visible(state.a)}, ${SORTS[state.sort]}.`;
    let better = 0, worse = 0, same = 0;
    for (let query = 0; query < overview.queries.length; query++)
      if (gain(query) > 0) better++; else if (gain(query) < 0) worse++; else same++;
    return `${visible(state.a)} is better than ${visible(state.b)} on ${counted(better, "question")}, worse on ${worse}, the same on ${same}; ${SORTS[state.sort]}.`;
  };

  /** Return what rows of the list show now. */
  const viewNow = () => {
    const several = systems.length > 1, chosen = several ? [state.a, state.b] : [state.a];
    const others = systems.filter((name) => !chosen.includes(name)).slice(0, MOST_IN_A_ROW - chosen.length);
    const mean = (name) => valuesOf(name).reduce((sum, value) => sum + (value || 0), 0) * (isUp() ? 1 : -1);
    const named = [...chosen, ...others].sort((left, right) => mean(right) - mean(left));
    const failing = column(`cause-${systemAt(state.a)}`);
    return {
      title: state.measure, gain, valueOf: valuesOf, a: valuesOf(state.a), b: several ? valuesOf(state.b) : null,
      systems: named.map((name) => ({ name, at: systemAt(name), chosen: chosen.includes(name) })),
      factsOf: (query) => {
        const facts = overview.fields.slice(0, 2).map(({ name }) => fieldValue(name, query)).filter((value) => value !== null && value.length <= 40);
        const plain = (overview.texts[query] ? facts : []).map(visible).join(", ");
        return { plain, failing: failing[query] < 0 ? "" : `${plain ? "; " : ""}${visible(state.a)} fails: ${overview.causes[failing[query]]}` };
      },
    };
  };

  /** Draw two rankings in a row of the list, and what is missing from the top of the first. */
  const openRow = async (query, item) => {
    const chosen = systems.length > 1 ? [state.a, state.b] : [state.a];
    if (!overview.documents) {
      item.append(make("p", { class: "quiet" }, "This page holds values only, no rankings. ", make("a", { href: queryLink(query) }, "All values")));
      return;
    }
    const { systems: answers, ideal } = await explorerData.answers(overview, query);
    const rows = chosen.map((name) => answers[systemAt(name)]), first = rows.map((each) => each.slice(0, 10));
    const documents = await explorerData.documents(overview, [...first.flat(), ...ideal].map((row) => row.doc));
    const title = (doc) => visible(documents.get(doc).title || documents.get(doc).id).slice(0, 120);
    const sides = chosen.map((name, at) => {
      const top = new Set(first[at].map((row) => row.doc));
      const missing = ideal.filter((row) => !top.has(row.doc)).slice(0, 3).map((row) => {
        const rank = rows[at].find((each) => each.doc === row.doc)?.rank;
        return `${title(row.doc)} (grade ${short(row.grade)}, ${rank ? `rank ${rank}` : unseen(rows[at])})`;
      });
      return make("section", {}, make("h3", {}, visible(name), " ", make("small", {}, `${state.measure} ${number(valuesOf(name)[query])}`)),
        first[at].length ? make("ol", {}, first[at].map((row) => make("li", {}, gradeBadge(row.grade, "?"), make("span", {}, title(row.doc)),
          make("small", {}, documents.get(row.doc).title ? visible(documents.get(row.doc).id).slice(0, 40) : "")))) : make("p", { class: "quiet" }, "No documents."),
        missing.length ? make("p", { class: "quiet" }, `Not in its first 10: ${missing.join("; ")}`) : null);
    });
    item.append(make("div", { class: "two" }, sides), make("p", { class: "whole" }, make("a", { href: queryLink(query) }, "Whole rankings with texts")));
  };

  const showList = async (_, options) => {
    await ready;
    state = read(options);
    if (state.in === "documents" && state.find.trim() && inDocuments.text !== state.find) {
      status("searching documents …");
      await searchDocuments(state.find);
    }
    const left = byId("detail").hidden ? -1 : queryIndex;
    byId("list").hidden = false;
    byId("detail").hidden = true;
    update();
    if (left >= 0) list.focusOn(left);
  };

  const update = () => {
    select();
    setControls();
    byId("compared").textContent = sentence();
    list.show(order, viewNow());
  };

  /* --- what to judge --------------------------------------------------------------------------- */

  const exportPool = async (queries) => {
    const wanted = new Set(queries), pairs = new Map();
    await explorerData.allAnswers(overview, (query, system, docs, grades) => {
      if (!wanted.has(query)) return;
      if (![state.a, state.b, ...state.s].some((name) => systemAt(name) === system)) return;
      for (let at = 0; at < Math.min(docs.length, overview.cutoff); at++)
        if (!(grades[at] >= 0)) pairs.set(`${query} ${docs[at]}`, [query, docs[at]]);
    });
    if (!pairs.size) { say("every document on top of these questions is judged"); return; }
    const place = new Map(queries.map((query, at) => [query, at]));
    const chosen = [...pairs.values()].sort((left, right) => place.get(left[0]) - place.get(right[0]));
    const documents = await explorerData.documents(overview, chosen.map(([, doc]) => doc));
    const lines = chosen.map(([query, doc]) => {
      const { id, title, text } = documents.get(doc);
      return JSON.stringify({ query_id: overview.queries[query], doc_id: id, text: overview.texts[query] ?? undefined,
        title: title ?? undefined, snippet: text ?? undefined });
    });
    download(`${lines.join("\n")}\n`, "pool.jsonl", "application/jsonl");
    say(`${counted(chosen.length, "document")} to judge saved as pool.jsonl: rankscope judge pool.jsonl`);
  };

  /* --- one query ------------------------------------------------------------------------------- */

  const gradeBadge = (grade, hole = "unjudged") => {
    if (grade < 0) return make("span", { class: "grade hole", title: `grade ${short(grade)}: pooled, and not judged` }, hole);
    if (!(grade >= 0)) return make("span", { class: "grade hole", title: "nobody judged it" }, hole);
    const level = grade <= 0 ? 0 : grade < 1 ? 1 : Math.min(Math.round(grade), 4);
    return make("span", { class: `grade level-${level}`, title: `grade ${short(grade)}` }, short(grade));
  };

  /** Say what a ranking that may go on below what is shown has instead of a rank. */
  const unseen = (rows) => rows.length < overview.top ? "not retrieved" : `> ${overview.top}`;

  const moved = (rank, other, name, rows) => {
    if (other === undefined) return make("span", { class: "move only", title: rows.length < overview.top
      ? `${visible(name)} did not retrieve it` : `${visible(name)} does not have it in its first ${overview.top}` },
    rows.length < overview.top ? "only here" : `not in first ${overview.top}`);
    const change = other - rank;
    if (!change) return make("span", { class: "move quiet", title: `the same rank in ${visible(name)}` }, "=");
    return make("span", { class: "move", title: `rank ${other} in ${visible(name)}` },
      `${change > 0 ? "▲" : "▼"}${Math.abs(change)}`);
  };

  /** Return how a document begins, or where it has the words of the query; a button shows the rest. */
  const snippetOf = (text, words) => {
    const short = snippet(text, words, 220), whole = visible(text);
    const place = make("span", {}, marked(short, words));
    if (short === whole) return make("div", { class: "snippet" }, place);
    const more = button("more", () => {
      const isOpen = more.getAttribute("aria-expanded") === "true";
      place.replaceChildren(...marked(isOpen ? short : whole, words));
      more.setAttribute("aria-expanded", String(!isOpen));
      more.textContent = isOpen ? "more" : "less";
    }, { class: "more", "aria-expanded": "false" });
    return make("div", { class: "snippet" }, place, " ", more);
  };

  const hitOf = (row, document, { words, other, otherName, otherRows, reach, withAdds }) => {
    const title = document.title || (document.text ? "" : document.id);
    const item = make("li", { class: "hit", "data-doc": row.doc, tabindex: "-1" },
      make("span", { class: "rank" }, String(row.rank)),
      make("div", { class: "what" },
        title ? make("div", { class: "title" }, marked(visible(title), words)) : null,
        document.text ? snippetOf(document.text, words) : null,
        make("div", { class: "facts" }, gradeBadge(row.grade),
          otherName === undefined ? null : moved(row.rank, other, otherName, otherRows),
          withAdds && Number.isFinite(row.adds) && Math.abs(row.adds) > 5e-7
            ? make("span", { class: "adds", title: `what this rank adds to ${overview.measures[0].name}` }, `adds ${signed(row.adds)}${state.measure === overview.measures[0].name ? "" : ` to ${overview.measures[0].name}`}`) : null,
          row.score === undefined ? null : make("span", { class: "quiet", title: "score" }, `score ${short(row.score)}`),
          title === document.id ? null : make("code", { class: "quiet" }, visible(document.id).slice(0, 200)))));
    if (withAdds && row.adds > 0) {
      const share = make("span", { class: "share", "aria-hidden": "true" });
      share.style.width = `${100 * row.adds / reach}%`;
      item.append(share);
    }
    return item;
  };

  const highlight = (doc, on) => {
    for (const item of byId("detail").querySelectorAll(`[data-doc="${doc}"]`)) item.classList.toggle("same", on);
    drawLines(on ? doc : null);
  };

  const drawLines = (doc) => {
    const board = byId("board"), lines = byId("lines");
    if (!board || !lines) return;
    const items = doc === null ? [] : [...board.querySelectorAll(`.ranking [data-doc="${doc}"]`)];
    const box = board.getBoundingClientRect();
    const spots = items.map((item) => item.getBoundingClientRect()).sort((left, right) => left.left - right.left);
    lines.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    lines.replaceChildren(...spots.slice(1).map((spot, at) => {
      const from = spots[at], line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const x1 = from.right - box.left, y1 = from.top + from.height / 2 - box.top;
      const x2 = spot.left - box.left, y2 = spot.top + spot.height / 2 - box.top, middle = (x1 + x2) / 2;
      line.setAttribute("d", `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`);
      return line;
    }));
  };

  const valuesTable = (query, chosen) => {
    const titles = overview.measures.map(({ name, up }) => up ? name : `${name} ↓`);
    const value = (system, at) => column(`value-${systemAt(system)}-${at}`)[query];
    const rows = systems.map((system) => make("tr", { class: chosen.includes(system) ? "chosen" : null },
      make("th", { scope: "row", class: "text" }, visible(system).slice(0, 80)),
      titles.map((title, at) => make("td", { "data-label": title }, number(value(system, at), 4)))));
    const table = make("table", { "aria-label": "Values of this question" }, make("thead", {}, make("tr", {},
      make("th", { scope: "col", class: "text" }, "system"), titles.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, rows));
    const all = () => [["system", ...titles], ...systems.map((system) => [system, ...titles.map((_, at) => value(system, at))])];
    return make("details", {}, make("summary", {}, "All measures of this question"),
      make("div", { class: "tabled" }, make("div", { class: "tabletools" }, rankscope.copyTools(all, "values of this question")), table));
  };

  const ranking = (name, rows, documents, options) => {
    const at = systemAt(name), query = options.query, cause = column(`cause-${at}`)[query];
    const value = number(valuesOf(name)[query], 4);
    const more = column(`retrieved-${at}`)[query] - rows.length;
    return make("section", { class: "ranking", "aria-label": `Ranking of ${visible(name)}` },
      make("h4", {}, visible(name).slice(0, 80)),
      make("p", { class: "summary" }, make("strong", {}, value), ` ${state.measure}`,
        cause >= 0 ? make("span", { class: "bad" }, ` · fails: ${overview.causes[cause]}`) : null),
      rows.length ? make("ol", {}, rows.map((row) => hitOf(row, documents.get(row.doc), {
        ...options, withAdds: true, other: options.ranks?.get(row.doc) })).flatMap((item, at) =>
        at === overview.cutoff ? [make("li", { class: "cutline" }, `${overview.measures[0].name} looks no further`), item] : [item]))
        : make("p", { class: "quiet" }, overview.documents ? "No documents." : "This page holds no rankings."),
      more > 0 ? make("p", { class: "quiet" }, `${more} more`) : null);
  };

  const idealColumn = (rows, documents, chosen, shown, ranks, words, total) => make("section", { class: "ranking ideal", "aria-label": "Ideal order" },
    make("h4", {}, "Ideal order"),
    make("p", { class: "summary" }, `${counted(total, "relevant document")}, best grade first`),
    make("ol", {}, rows.map((row) => {
      const item = hitOf({ rank: row.rank, doc: row.doc, grade: row.grade }, documents.get(row.doc), { words });
      item.querySelector(".facts").append(...chosen.map((name, at) => make("span", { class: "where" },
        `${visible(name).slice(0, 24)}: ${ranks[at].get(row.doc) ?? unseen(shown[at])}`)));
      return item;
    })),
    total > rows.length ? make("p", { class: "quiet" }, `${total - rows.length} more`) : null);

  const systemPickers = (chosen) => {
    const set = (at, name) => {
      const next = chosen.slice();
      if (name === "") next.splice(at, 1);
      else next[at] = name;
      go(queryIndex, { ...state, s: [...new Set(next)] });
    };
    const pick = (at, name) => make("select", { "aria-label": `Ranking ${at + 1}`, change: (event) => set(at, event.target.value) },
      systems.filter((each) => each === name || !chosen.includes(each)).map((each) => option(each, visible(each).slice(0, 80), name)),
      chosen.length > 1 ? option("", "remove this ranking") : null);
    return make("div", { class: "row pickers" }, chosen.map((name, at) => pick(at, name)),
      chosen.length < Math.min(MOST_SIDE_BY_SIDE, systems.length)
        ? button("+ system", () => set(chosen.length, systems.find((name) => !chosen.includes(name)))) : null,
      button("Ideal order", () => go(queryIndex, { ...state, ideal: state.ideal ? "" : "1" }), { "aria-pressed": String(Boolean(state.ideal)) }));
  };

  let queryIndex = -1;
  const go = (query, of) => {
    history.replaceState(query === queryIndex ? { ...history.state, y: scrollY } : null, "", queryLink(query, of));
    rankscope.follow();
  };
  const step = (by) => {
    const at = order.indexOf(queryIndex);
    const next = order[at < 0 ? 0 : at + by];
    if (next !== undefined) go(next, state);
    else say(by > 0 ? "this is the last question of the list" : "this is the first question of the list");
  };

  const showQuery = async (rest, options) => {
    await ready;
    const before = state && listLink();
    state = read(options);
    if (before !== listLink() || !order.length) update();
    let id;
    try { id = decodeURIComponent(rest); } catch { id = rest; }
    const query = overview.queries.indexOf(id), detail = byId("detail");
    byId("list").hidden = true;
    detail.hidden = false;
    if (query < 0) {
      detail.replaceChildren(make("p", {}, "There is no such question in this report."), make("a", { href: listLink() }, "all questions"));
      return;
    }
    queryIndex = query;
    const [answers, text] = [await explorerData.answers(overview, query), overview.texts[query]];
    if (queryIndex !== query) return;
    const chosen = state.s.length ? state.s : [...new Set([state.a, state.b])];
    const rows = chosen.map((name) => answers.systems[systemAt(name)]);
    const ideal = state.ideal ? answers.ideal : [];
    const documents = await explorerData.documents(overview, [...rows.flat(), ...ideal].map((row) => row.doc));
    if (queryIndex !== query) return;
    const words = [...wordsOf(text), ...(state.in ? wordsOf(state.find) : [])], ranks = rows.map((each) => new Map(each.map((row) => [row.doc, row.rank])));
    const at = order.indexOf(query), fields = overview.fields.map(({ name }) => [name, fieldValue(name, query)]).filter(([, value]) => value !== null);
    const two = chosen.length === 2 ? (() => {
      const both = rows[0].filter((row) => ranks[1].has(row.doc)).length;
      return make("p", { class: "overlap" }, make("span", {}, `both ${both}`), make("span", {}, `only ${visible(chosen[0]).slice(0, 40)} ${rows[0].length - both}`),
        make("span", {}, `only ${visible(chosen[1]).slice(0, 40)} ${rows[1].length - both}`),
        make("span", { class: "quiet" }, `of the first ${overview.top}`));
    })() : null;
    const reach = rows.flat().reduce((most, row) => Math.max(most, row.adds || 0), 1e-9);
    const holes = rows.flat().filter((row) => !(row.grade >= 0) && row.rank <= overview.cutoff).length;
    const board = make("div", { id: "board", class: `board columns-${chosen.length + (ideal.length || state.ideal ? 1 : 0)}` },
      chosen.map((name, place) => ranking(name, rows[place], documents, { query, words, reach,
        ranks: chosen.length > 1 ? ranks[place ? 0 : 1] : undefined,
        otherRows: chosen.length > 1 ? rows[place ? 0 : 1] : undefined, otherName: chosen.length > 1 ? chosen[place ? 0 : 1] : undefined })),
      state.ideal ? idealColumn(ideal, documents, chosen, rows, ranks, words, column("relevant")[query]) : null);
    const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    lines.id = "lines";
    lines.setAttribute("aria-hidden", "true");
    board.append(lines);
    detail.replaceChildren(...[
      make("div", { class: "row" }, make("a", { href: listLink(), id: "back" }, "← all questions"),
        make("span", { class: "quiet" }, at < 0 ? `outside the current filter` : `${at + 1} of ${order.length.toLocaleString("en")} in this list`),
        make("span", { class: "end" }, button("← previous", () => step(-1), { id: "previous", disabled: at === 0 }),
          button("next →", () => step(1), { id: "next", disabled: at === order.length - 1 }))),
      make("h3", { id: "query-title", tabindex: "-1" }, visible(text || overview.queries[query]).slice(0, 2000)),
      make("p", { class: "quiet" }, text ? [make("code", {}, visible(overview.queries[query]).slice(0, 300)), " · "] : null,
        overview.documents ? `${column("relevant")[query]} relevant` : "", holes ? ` · ${holes} unjudged on top` : "",
        fields.length ? " · " : "", fields.slice(0, 12).map(([name, value], place) => [place ? " · " : "",
          make("a", { href: written("queries", { ...state, field: name, value }), title: "questions like this" }, `${visible(name)}: ${visible(value).slice(0, 120)}`)])),
      valuesTable(query, chosen), systemPickers(chosen), two, board,
      chosen.length > 2 ? make("p", { class: "notes" }, `▲▼: moved against ${visible(chosen[0])}; in ${visible(chosen[0])}, against ${visible(chosen[1])}.`) : null,
      holes ? make("div", { class: "row" }, button("Judge these", () => exportPool([query]), { class: "small",
        title: "Save the unjudged documents on top as a pool: rankscope judge POOL" })) : null,
    ].filter(Boolean));
    for (const item of board.querySelectorAll(".hit")) {
      const doc = item.dataset.doc;
      item.addEventListener("pointerenter", () => highlight(doc, true));
      item.addEventListener("pointerleave", () => highlight(doc, false));
    }
    document.title = `${visible(text || overview.queries[query]).slice(0, 80)} · ${pageTitle}`;
    byId("query-title").focus({ preventScroll: true });
  };

  const pageTitle = document.title;

  /* --- keys ------------------------------------------------------------------------------------ */

  const KEYS = [["/", "find"], ["j, k", "next, previous row of the list"], ["Enter", "open or close the row"],
    ["n or →, p or ←", "next, previous question of the list"], ["Esc", "back to the list"], ["c", "change colours"], ["?", "these keys"]];
  const keysOn = () => remembered("keys") !== "off";
  const help = make("dialog", { id: "help", "aria-labelledby": "help-title" }, make("h3", { id: "help-title" }, "Keys"),
    make("dl", {}, KEYS.flatMap(([keys, what]) => [make("dt", {}, keys), make("dd", {}, what)])),
    make("label", { class: "check" }, make("input", { type: "checkbox", id: "keys-on", checked: keysOn(),
      change: (event) => remember("keys", event.target.checked ? "on" : "off") }), " shortcuts of single keys"),
    make("p", {}, button("Close", () => help.close())));

  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || !keysOn()) return;
    if (event.target.closest?.("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const inDetail = !byId("detail").hidden;
    const actions = {
      "/": () => { if (inDetail) location.hash = listLink(); setTimeout(() => byId("find").focus(), 60); },
      "?": () => help.showModal(),
      c: () => rankscope.nextTheme(),
      ...(inDetail ? { n: () => step(1), ArrowRight: () => step(1), p: () => step(-1), ArrowLeft: () => step(-1),
        Escape: () => { location.hash = listLink(); } } : { j: () => list.step(1), k: () => list.step(-1) }),
    };
    if (Object.hasOwn(actions, event.key)) { event.preventDefault(); actions[event.key](); }
  };

  /* --- start ----------------------------------------------------------------------------------- */

  const ready = (async () => {
    overview = await explorerData.load("overview");
    systems = overview.systems;
    state = plainState();
    list = explorerList.create({ overview, open: openRow });
    place.replaceChildren(
      make("div", { id: "list" }, make("p", { id: "compared" }), controls(), list.region,
        make("ul", { class: "notes" }, [
          overview.documents ? `Marks: the first 10 documents, height is the grade, a dot or ? is unjudged; the number is the rank of the first relevant document. Rankings hold the first ${overview.top} documents.`
            : "This page holds values only: no rankings, no judgments.",
          systems.length > MOST_IN_A_ROW ? `A row shows ${MOST_IN_A_ROW} of ${systems.length} systems: choose any two above.` : "",
        ].filter(Boolean).map((text) => make("li", {}, text)))),
      make("div", { id: "detail", hidden: true }));
    document.body.append(help);
    document.addEventListener("keydown", pressed);
    update();
    document.documentElement.dataset.ready = "1";
  })();

  route("queries", (rest, options) => { document.title = pageTitle; return showList(rest, options); });
  route("query", showQuery);
})();
