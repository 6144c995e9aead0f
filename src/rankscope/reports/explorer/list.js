/* The list of questions: how a question changed, what it asks, and each ranking in ten places. A row
   opens to two rankings side by side. Rankings are data, drawn when a row is shown or opened, so
   that a page of thousands of questions is light: the first rows are there, a button adds more. */
const explorerList = (() => {
  const { make, button } = rankscope;
  const { visible, number, signed, counted } = explorerTexts;
  const FIRST = 30, MORE = 200, PLACES = 10, HEIGHT = 18;
  const SVG = "http://www.w3.org/2000/svg";

  const shape = (tag, attributes) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };

  /** Draw a ranking as ten places: height is the grade, a dot is unjudged; return it with the rank of
      the first relevant document, or what is known instead. */
  const spark = (rows, highest, top) => {
    const picture = shape("svg", { viewBox: `0 0 ${5 * PLACES} ${HEIGHT}`, "aria-hidden": "true" });
    let bars = "", dots = "";
    for (const row of rows.slice(0, PLACES)) {
      const x = 5 * row.rank - 3;
      if (!(row.grade >= 0)) dots += `M${x} ${HEIGHT - 4}v.01`;
      else if (row.grade > 0) bars += `M${x} ${HEIGHT}V${(HEIGHT - 4 - 13 * row.grade / highest).toFixed(1)}`;
    }
    if (bars) picture.append(shape("path", { d: bars, class: "grades" }));
    if (dots) picture.append(shape("path", { d: dots, class: "holes" }));
    const first = rows.find((row) => row.grade > 0)?.rank;
    return [picture, first ?? (rows.length < top ? "–" : `>${top}`)];
  };

  /** Make the list. `of` holds what rows need: overview, link(query), words of a query, opened(query). */
  const create = (of) => {
    const head = make("div", { class: "qhead", "aria-hidden": "true" });
    const rows = make("ul", { class: "questions" }), rest = make("p", { class: "quiet" });
    const region = make("div", {}, head, rows, rest);
    let shown = [], view, drawn = 0;

    const changeOf = (query) => {
      const [a, b] = [view.a[query], view.b?.[query]];
      if (!view.b) return make("span", { class: "change" }, make("b", {}, number(a)));
      const tone = view.gain(query) > 0 ? "good" : view.gain(query) < 0 ? "bad" : "quiet";
      return make("span", { class: "change" }, make("b", { class: tone }, signed(a - b)), " ",
        make("small", {}, `${number(b, 2)} → ${number(a, 2)}`));
    };

    const sparksOf = (query) => make("span", { class: `sparks n${view.systems.length}` }, view.systems.map(({ name, chosen }) =>
      make("span", { class: chosen ? "chosen" : null, "data-name": name },
        of.overview.documents ? null : number(view.valueOf(name)[query], 2))));

    const fill = async (item, query) => {
      if (!of.overview.documents) return;
      const { systems, ideal } = await explorerData.answers(of.overview, query);
      const highest = Math.max(...ideal.slice(0, 1).map((row) => row.grade), 1);
      [...item.querySelector(".sparks").children].forEach((place, at) => {
        const [picture, first] = spark(systems[view.systems[at].at], highest, of.overview.top);
        place.replaceChildren(picture, String(first));
      });
    };

    const rowOf = (query) => {
      const text = of.overview.texts[query], facts = view.factsOf(query);
      const summary = make("summary", {}, changeOf(query),
        make("span", { class: "asked" }, visible(text || of.overview.queries[query]).slice(0, 300), " ",
          make("small", {}, facts.plain, facts.failing ? make("em", {}, facts.failing) : null)), sparksOf(query));
      const item = make("details", { class: "question", "data-query": query }, summary);
      item.addEventListener("toggle", () => { if (item.open && item.children.length === 1) of.open(query, item); });
      fill(item, query);
      return make("li", {}, item);
    };

    const add = (count) => {
      const until = Math.min(shown.length, drawn + count);
      for (; drawn < until; drawn++) rows.append(rowOf(shown[drawn]));
      const left = shown.length - drawn;
      rest.replaceChildren(...(!shown.length ? ["No question fits these filters."] : left
        ? [`${drawn.toLocaleString("en")} of ${counted(shown.length, "question")} are shown. `,
          button(`Show ${Math.min(MORE, left)} more`, () => add(MORE), { id: "more" })] : []));
    };

    const show = (queries, given) => {
      [shown, view, drawn] = [queries, given, 0];
      head.replaceChildren(make("span", {}, view.title), make("span", {}, "Question"),
        make("span", { class: `sparks n${view.systems.length}` }, view.systems.map(({ name, chosen }) =>
          make("span", { class: chosen ? "chosen" : null }, visible(name).slice(0, 16)))));
      rows.replaceChildren();
      add(FIRST);
    };

    /** Move the focus by so many rows; the next ones are added when they are reached. */
    const step = (by) => {
      const all = [...rows.querySelectorAll("summary")];
      const at = all.indexOf(document.activeElement?.closest?.("summary"));
      const next = Math.max(at + by, 0);
      if (next >= all.length) add(MORE);
      [...rows.querySelectorAll("summary")][next]?.focus();
    };

    const focusOn = (query) => {
      const at = shown.indexOf(query);
      if (at >= drawn) add(at + 1 - drawn);
      rows.querySelector(`[data-query="${query}"] summary`)?.focus({ preventScroll: true });
    };

    return { region, show, step, focusOn };
  };

  return { create };
})();
