/* The explorer: a list of all queries, and each query with the answers of several systems. What is
   shown is in the address, so that a link leads to it. */
(() => {
  const { byId, make, button, say, copy, download, csv, tabbed, route, showView, remembered, remember } = rankscope;
  const { visible, fold, wordsOf, marked, snippet, number, signed, short, counted } = explorerTexts;
  const place = byId("explorer");
  if (!place) return;
  const MOST_COLUMNS = 8, MOST_SIDE_BY_SIDE = 4;

  let overview, systems, state, shown = [], order = [], list;
  const column = (name) => overview.columns[name];

  /* --- what is shown, and the address -------------------------------------------------------- */

  const SHOWS = {
    all: "All",
    failing: "Failing",
    improved: "Improved",
    worsened: "Worsened",
    different: "Different",
    unjudged: "Unjudged on top",
  };
  const plainState = () => {
    const b = overview.baseline && systems.includes(overview.baseline) ? overview.baseline : systems[0];
    const focus = overview.focus && systems.includes(overview.focus) && overview.focus !== b ? overview.focus
      : systems.find((name) => name !== b) ?? systems[0];
    return { measure: overview.measures[0]?.name ?? "", a: focus, b, show: "all", cause: "", field: "", value: "",
      min: "", max: "", find: "", in: "", sort: systems.length > 1 && overview.documents ? "-disagreement" : "a", s: [], ideal: "" };
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

  const sortKey = () => {
    const key = state.sort.replace(/^-/, "");
    if (key === "query") return (query) => overview.queries[query];
    if (key === "a" || key === "b") return (query) => valuesOf(state[key])[query];
    if (key === "delta") return difference;
    if (key === "disagreement") return (query) => column("disagreement")[query];
    if (key === "relevant") return (query) => column("relevant")[query];
    if (key === "unjudged") return (query) => column(`unjudged-${systemAt(state.a)}`)[query];
    if (key === "cause") return (query) => {
      const cause = column(`cause-${systemAt(state.a)}`)[query];
      return cause < 0 ? null : overview.causes[cause];
    };
    if (key.startsWith("system:")) {
      const values = systems.includes(key.slice(7)) ? valuesOf(key.slice(7)) : null;
      return (query) => values ? values[query] : 0;
    }
    return (query) => query;
  };

  const collator = new Intl.Collator("en", { numeric: true });
  const sorted = (queries) => {
    const key = sortKey(), sign = state.sort.startsWith("-") ? -1 : 1;
    const keyed = queries.map((query) => [key(query), query]);
    const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
    keyed.sort(([left, first], [right, second]) => {
      const gone = isMissing(left) - isMissing(right);  // what has no value comes last either way
      if (gone || isMissing(left)) return gone || first - second;
      const apart = typeof left === "string" ? collator.compare(left, right) : left - right;
      return sign * apart || first - second;
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
    const parts = [
      make("div", { class: "row" },
        make("label", { class: "picker grow" }, make("span", {}, "Find"), make("input", {
          id: "find", type: "search", placeholder: "words of a query, an id", autocomplete: "off", spellcheck: "false",
          input: (event) => soon({ find: event.target.value }) })),
        overview.documents ? make("label", { class: "check" }, make("input", { type: "checkbox", id: "in-documents",
          change: (event) => change({ in: event.target.checked ? "documents" : "" }) }), " in the documents shown, too") : null),
      make("details", { class: "filters", id: "filters", open: innerWidth > 704 }, make("summary", {}, "Measure, systems and filters"),
      make("div", { class: "row" },
        picker("measure", "Measure", overview.measures.map(({ name, up }) => [name, up ? name : `${name} ↓`])),
        picker("a", several ? "System" : "System", names),
        several ? picker("b", "against", names) : null,
        overview.causes.length ? picker("cause", "Cause of failure", [["", "any"], ...overview.causes.map((cause) => [cause, cause])]) : null,
        overview.fields.length ? picker("field", "Field", [["", "none"], ...overview.fields.map(({ name }) => [name, name])]) : null,
        overview.fields.length ? make("span", { id: "value-place" }) : null,
        several ? field("min", "Δ from", { type: "number", step: "any", size: 5 }, "min") : null,
        several ? field("max", "to", { type: "number", step: "any", size: 5 }, "max") : null),
      make("div", { class: "row", role: "group", "aria-label": "Which queries" },
        Object.entries(SHOWS).filter(([key]) => (several || !["improved", "worsened", "different"].includes(key)) && (overview.documents || key !== "unjudged"))
          .map(([key, text]) => button(text, () => change({ show: key }), { "data-show": key, "aria-pressed": "false" })))),
      make("div", { class: "row status" }, make("span", { id: "count", role: "status" }), make("span", { id: "chips" }),
        make("span", { class: "end" },
          button("Copy", () => copy(tabbed(list.everything()), "table"), { class: "small", "aria-label": "Copy the queries" }),
          button("CSV", () => download(csv(list.everything()), "queries.csv", "text/csv"), { class: "small", "aria-label": "Save the queries as CSV" }),
          !overview.documents ? null : button("Judge these", () => exportPool(order), { class: "small",
            title: "Save the unjudged documents on top of both systems as a pool: rankscope judge POOL" }),
          button("Keys", () => help.showModal(), { class: "small", title: "What keys do" }))),
    ];
    return make("div", { class: "controls" }, parts);
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
    for (const key of ["measure", "a", "b", "cause", "field"]) { const node = byId(`pick-${key}`); if (node) node.value = state[key]; }
    const causes = column(`cause-${systemAt(state.a)}`), node = byId("pick-cause");
    if (node) for (const each of node.options) if (each.value) {
      const number = overview.causes.indexOf(each.value);
      each.textContent = `${each.value} (${causes.reduce((sum, cause) => sum + (cause === number), 0)})`;
    }
    for (const key of ["min", "max", "find", "value"]) set(key, state[key]);
    const box = byId("in-documents");
    if (box) box.checked = state.in === "documents";
    for (const control of place.querySelectorAll("[data-show]"))
      control.setAttribute("aria-pressed", String(control.dataset.show === state.show));
    const on = Object.keys(isOn).filter((name) => isOn[name]());
    byId("chips").replaceChildren(...on.map((name) => button(`${chipTexts[name]()} ×`, () => change(cleared[name]),
      { class: "chip", "data-chip": name, "aria-label": `Remove the filter ${chipTexts[name]()}` })),
    ...(on.length ? [button("Reset all", () => change(Object.assign({}, ...Object.values(cleared))), { class: "small", id: "reset" })] : []));
    status(`${shown.length.toLocaleString("en")} of ${counted(overview.queries.length, "query")}`);
  };

  const bar = (delta, reach) => {
    if (!delta) return null;
    const box = make("span", { class: `delta ${delta > 0 === isUp() ? "good" : "bad"}` }), inner = make("span");
    inner.style.width = `${Math.min(50 * Math.abs(delta) / reach, 50)}%`;
    inner.style.left = delta > 0 ? "50%" : `${50 - Math.min(50 * Math.abs(delta) / reach, 50)}%`;
    box.append(inner);
    return box;
  };

  const columnsNow = () => {
    const several = systems.length > 1, failing = column(`cause-${systemAt(state.a)}`);
    const listed = [...new Set([state.a, ...(several ? [state.b] : []), ...systems])].slice(0, MOST_COLUMNS);
    const value = (name) => ({
      key: name === state.a ? "a" : name === state.b ? "b" : `system:${name}`, title: visible(name).slice(0, 24),
      kind: name === state.a || (several && name === state.b) ? "number chosen" : "number wide-only",
      cell: (query) => number(valuesOf(name)[query]),
      value: (query) => Number.isNaN(valuesOf(name)[query]) ? "" : valuesOf(name)[query],
    });
    const deltas = several ? shown.reduce((most, query) => Math.max(most, Math.abs(difference(query)) || 0), 1e-9) : 1;
    return [
      { key: "query", title: "query", heads: ["query_id", "text"], kind: "text query",
        cell: (query) => [make("a", { href: queryLink(query) }, visible(overview.texts[query] || overview.queries[query]).slice(0, 300)),
          overview.texts[query] ? make("span", { class: "id" }, visible(overview.queries[query]).slice(0, 100)) : null],
        value: (query) => [overview.queries[query], overview.texts[query] ?? ""] },
      ...listed.slice(0, several ? 2 : 1).map(value),
      ...(several ? [{ key: "delta", title: "Δ", kind: "number", about: `${visible(state.a)} minus ${visible(state.b)}`,
        cell: (query) => Number.isNaN(difference(query)) ? "–" : [make("span", { class: gain(query) > 0 ? "good" : gain(query) < 0 ? "bad" : "quiet" },
          `${gain(query) > 0 ? "▲" : gain(query) < 0 ? "▼" : ""} ${signed(difference(query))}`), bar(difference(query), deltas)],
        value: (query) => Number.isNaN(difference(query)) ? "" : difference(query) }] : []),
      ...listed.slice(several ? 2 : 1).map(value),
      ...(several && overview.documents ? [{ key: "disagreement", title: "disagree", kind: "number wide-only",
        about: "How much the rankings differ: 0 the same, 1 nothing in common (1 − rank-biased overlap, mean over pairs)",
        cell: (query) => number(column("disagreement")[query], 2), value: (query) => column("disagreement")[query] }] : []),
      ...(overview.documents ? [{ key: "relevant", title: "relevant", kind: "number wide-only", about: "Judged documents that gain something",
        cell: (query) => String(column("relevant")[query]), value: (query) => column("relevant")[query] },
      { key: "unjudged", title: "unjudged", kind: "number wide-only", about: `Unjudged in the first ${overview.cutoff} of ${visible(state.a)}`,
        cell: (query) => String(column(`unjudged-${systemAt(state.a)}`)[query]), value: (query) => column(`unjudged-${systemAt(state.a)}`)[query] }] : []),
      ...(overview.causes.length ? [{ key: "cause", title: "cause of failure", kind: "text wide-only", about: `Why ${visible(state.a)} fails`,
        cell: (query) => failing[query] < 0 ? "" : overview.causes[failing[query]],
        value: (query) => failing[query] < 0 ? "" : overview.causes[failing[query]] }] : []),
    ];
  };

  const showList = async (_, options) => {
    await ready;
    state = read(options);
    if (state.in === "documents" && state.find.trim() && inDocuments.text !== state.find) {
      status("searching documents …");
      await searchDocuments(state.find);
    }
    select();
    setControls();
    const left = byId("detail").hidden ? -1 : order.indexOf(queryIndex);
    byId("list").hidden = false;
    byId("detail").hidden = true;
    showView("queries");
    list.show(order, columnsNow(), state.sort);
    if (left >= 0) list.focusRow(left);
    drawCharts();
  };

  const sortBy = ({ key, kind }) => {
    const isText = kind.startsWith("text");
    change({ sort: state.sort === key ? `-${key}` : state.sort === `-${key}` ? key : isText || key === "a" || key === "b" ? key : `-${key}` });
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
    if (!pairs.size) { say("every document on top of these queries is judged"); return; }
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

  const gradeBadge = (grade) => {
    if (grade < 0) return make("span", { class: "grade hole", title: `grade ${short(grade)}: pooled, and not judged` }, "unjudged");
    if (!(grade >= 0)) return make("span", { class: "grade hole", title: "nobody judged it" }, "unjudged");
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
    const rows = overview.measures.map(({ name, up }, at) => make("tr", { class: name === state.measure ? "chosen" : null },
      make("th", { scope: "row", class: "text" }, up ? name : `${name} ↓`),
      systems.map((system) => make("td", { class: chosen.includes(system) ? "chosen" : null },
        number(column(`value-${systemAt(system)}-${at}`)[query], 4)))));
    const table = make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "text" }, "measure"),
      systems.map((system) => make("th", { scope: "col" }, visible(system).slice(0, 40))))), make("tbody", {}, rows));
    const all = () => [["measure", ...systems], ...overview.measures.map(({ name }, at) =>
      [name, ...systems.map((system) => column(`value-${systemAt(system)}-${at}`)[query])])];
    return make("details", {}, make("summary", {}, "All measures of this query"),
      make("div", { class: "tabled" }, make("div", { class: "tabletools" }, rankscope.copyTools(all, "values of this query")),
        make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Values of this query" }, table)));
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
    else say(by > 0 ? "this is the last query of the list" : "this is the first query of the list");
  };

  const showQuery = async (rest, options) => {
    await ready;
    const before = state && listLink();
    state = read(options);
    if (before !== listLink() || !order.length) { select(); setControls(); list.show(order, columnsNow(), state.sort); }
    let id;
    try { id = decodeURIComponent(rest); } catch { id = rest; }
    const query = overview.queries.indexOf(id), detail = byId("detail");
    byId("list").hidden = true;
    detail.hidden = false;
    showView("queries");
    if (query < 0) {
      detail.replaceChildren(make("p", {}, "There is no such query in this report."), make("a", { href: listLink() }, "all queries"));
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
      make("div", { class: "row" }, make("a", { href: listLink(), id: "back" }, "← all queries"),
        make("span", { class: "quiet" }, at < 0 ? `outside the current filter` : `${at + 1} of ${order.length.toLocaleString("en")} in this list`),
        make("span", { class: "end" }, button("← previous", () => step(-1), { id: "previous", disabled: at === 0 }),
          button("next →", () => step(1), { id: "next", disabled: at === order.length - 1 }))),
      make("h3", { id: "query-title", tabindex: "-1" }, visible(text || overview.queries[query]).slice(0, 2000)),
      make("p", { class: "quiet" }, text ? [make("code", {}, visible(overview.queries[query]).slice(0, 300)), " · "] : null,
        overview.documents ? `${column("relevant")[query]} relevant` : "", holes ? ` · ${holes} unjudged on top` : "",
        fields.length ? " · " : "", fields.slice(0, 12).map(([name, value], place) => [place ? " · " : "",
          make("a", { href: written("queries", { ...state, field: name, value }), title: "queries like this" }, `${visible(name)}: ${visible(value).slice(0, 120)}`)])),
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

  /* --- charts of two systems ------------------------------------------------------------------- */

  const pageTitle = document.title;
  const drawCharts = () => {
    const spot = byId("query-charts");
    if (!spot || systems.length < 2) return;
    const key = [state.measure, state.a, state.b].join("\n");
    if (spot.dataset.key === key) return;
    spot.dataset.key = key;
    const [a, b] = [valuesOf(state.a), valuesOf(state.b)], rows = [];
    for (let query = 0; query < overview.queries.length; query++)
      if (!Number.isNaN(a[query]) && !Number.isNaN(b[query]))
        rows.push({ query, id: overview.queries[query], text: overview.texts[query], a: a[query], b: b[query],
          delta: a[query] - b[query], gain: gain(query) });
    rows.sort((left, right) => right.delta - left.delta || left.query - right.query);
    explorerCharts.draw(byId("query-chart-place"), rows, { a: state.a, b: state.b }, state.measure,
      (row) => queryLink(row.query, { ...plainState(), measure: state.measure, a: state.a, b: state.b, sort: "-delta" }));
    const chosen = (id, values, now, set) => {
      const node = byId(id);
      node.replaceChildren(...values.map((value) => option(value, visible(value).slice(0, 80), now)));
      node.onchange = () => set(node.value);
    };
    const again = (changes) => {
      state = { ...state, ...changes };
      history.replaceState({ ...history.state, y: scrollY }, "", written("overview", state));
      drawCharts();
    };
    chosen("chart-measure", overview.measures.map(({ name }) => name), state.measure, (measure) => again({ measure }));
    chosen("chart-a", systems, state.a, (name) => again({ a: name, b: name === state.b ? state.a : state.b }));
    chosen("chart-b", systems, state.b, (name) => again({ b: name, a: name === state.a ? state.b : state.a }));
    byId("chart-table").href = written("queries", { ...plainState(), measure: state.measure, a: state.a, b: state.b, sort: "-delta" });
  };

  /* --- keys ------------------------------------------------------------------------------------ */

  const KEYS = [["/", "find"], ["j or ↓, k or ↑", "next, previous row of the list"], ["Enter", "open the query"],
    ["n or →, p or ←", "next, previous query of the list"], ["Esc", "back to the list"], ["c", "change colours"], ["?", "these keys"]];
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
    const inDetail = !byId("detail").hidden && !byId("queries").classList.contains("away");
    const inList = !byId("list").hidden && !byId("queries").classList.contains("away");
    const row = Number(document.activeElement?.closest?.("tr[data-at]")?.dataset.at ?? -1);
    const actions = {
      "/": () => { if (!inList) location.hash = listLink(); setTimeout(() => byId("find").focus(), 60); },
      "?": () => help.showModal(),
      c: () => rankscope.nextTheme(),
      ...(inList ? { j: () => list.focusRow(row + 1), k: () => list.focusRow(Math.max(row - 1, 0)) } : {}),
      ...(inDetail ? { n: () => step(1), ArrowRight: () => step(1), p: () => step(-1), ArrowLeft: () => step(-1),
        Escape: () => { location.hash = listLink(); } } : {}),
    };
    const isArrow = event.key.startsWith("Arrow");
    if (isArrow && event.target.closest?.(".scroll")) return;
    if (Object.hasOwn(actions, event.key)) { event.preventDefault(); actions[event.key](); }
  };

  /* --- start ----------------------------------------------------------------------------------- */

  const ready = (async () => {
    overview = await explorerData.load("overview");
    systems = overview.systems;
    state = plainState();
    list = explorerList.create("Queries", { onSort: sortBy, onOpen: (query) => { location.hash = queryLink(query); } });
    place.replaceChildren(
      make("div", { id: "list" }, controls(), list.region,
        make("p", { class: "notes" }, !overview.documents ? "This page holds values only: no rankings, no judgments. " : systems.length > 1 ? "The list begins with the queries on which the rankings differ most (“disagree”: 1 minus their rank-biased overlap). " : "",
          overview.documents ? `Rankings show the first ${overview.top} documents. ` : "",
          overview.causes.length ? "What counts as failing, and the causes: Diagnosis, Failing questions. " : "",
          systems.length > MOST_COLUMNS ? `The table shows ${MOST_COLUMNS} of ${systems.length} systems: choose any two above.` : "")),
      make("div", { id: "detail", hidden: true }));
    document.body.append(help);
    document.addEventListener("keydown", pressed);
    select();
    setControls();
    list.show(order, columnsNow(), state.sort);
    drawCharts();
    document.documentElement.dataset.ready = "1";
  })();

  route("queries", (rest, options) => { document.title = pageTitle; return showList(rest, options); });
  route("query", showQuery);
  route("overview", async (_, options) => {
    await ready;
    document.title = pageTitle;
    state = read(options);
    showView("overview");
    drawCharts();
  });
})();
