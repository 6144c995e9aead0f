/* A long table of which only the rows in sight are in the page. All of it can be copied: by its
   buttons, or with Ctrl+A and Ctrl+C inside it. */
const explorerList = (() => {
  const { make, button, say, tabbed } = rankscope;
  const HEIGHT = 64, AROUND = 12, FEW = 120;

  /** Make a table. `columns`: key, title, kind, cell(row) → nodes, value(row) → text or number. */
  const create = (name, { onSort, onOpen }) => {
    const head = make("tr"), body = make("tbody");
    const table = make("table", { class: "long" }, make("thead", {}, head), body);
    const region = make("div", { class: "scroll list", tabindex: "0", role: "group", "aria-label": name }, table);
    let columns = [], rows = [], isAll = false;

    const rowOf = (at) => {
      const row = rows[at];
      return make("tr", { "aria-rowindex": at + 2, "data-at": at, click: (event) => {
        if (!event.target.closest("a, button") && !String(getSelection())) onOpen(row);
      } }, columns.map((column, place) => make(place ? "td" : "th",
        { class: column.kind || null, scope: place ? null : "row", title: column.hint ? column.hint(row) : null },
        column.cell(row))));
    };

    const spacer = (height) => {
      const row = make("tr", { class: "spacer", "aria-hidden": "true" }, make("td", { colspan: columns.length }));
      row.firstChild.style.height = `${height}px`;
      return row;
    };

    let drawn = [-1, -1];
    const render = (force) => {
      const count = rows.length;
      let low = 0, high = count;
      if (count > FEW) {
        low = Math.max(0, Math.floor(region.scrollTop / HEIGHT) - AROUND);
        high = Math.min(count, Math.ceil((region.scrollTop + region.clientHeight) / HEIGHT) + AROUND);
      }
      if (!force && drawn[0] === low && drawn[1] === high) return;
      drawn = [low, high];
      const focused = document.activeElement?.closest?.("tr[data-at]")?.dataset.at;
      const parts = [];
      if (low > 0) parts.push(spacer(low * HEIGHT));
      for (let at = low; at < high; at++) parts.push(rowOf(at));
      if (high < count) parts.push(spacer((count - high) * HEIGHT));
      body.replaceChildren(...parts);
      if (focused !== undefined) body.querySelector(`tr[data-at="${focused}"] a`)?.focus({ preventScroll: true });
      region.classList.toggle("whole", isAll);
    };

    /** Return everything, as rows of texts and numbers. */
    const everything = () => [columns.flatMap((column) => column.heads || [column.title]),
      ...rows.map((row) => columns.flatMap((column) => column.value(row)))];

    const show = (shown, given, sort) => {
      const focused = document.activeElement?.closest?.("th[data-key]")?.dataset.key;
      [rows, columns, isAll] = [shown, given, false];
      table.setAttribute("aria-rowcount", rows.length + 1);
      head.replaceChildren(...columns.map((column) => {
        const down = sort === `-${column.key}`, up = sort === column.key;
        const sign = up ? " ▲" : down ? " ▼" : "";
        return make("th", { scope: "col", class: column.kind || null, "data-key": column.key || null,
          "aria-sort": up ? "ascending" : down ? "descending" : column.key ? "none" : null },
        column.key ? button(`${column.title}${sign}`, () => onSort(column), { class: "sorter", title: column.about || null })
          : column.title);
      }));
      region.scrollTop = 0;
      render(true);
      if (!rows.length) body.replaceChildren(make("tr", {}, make("td", { colspan: columns.length, class: "text nothing" },
        "No query fits these filters.")));
      if (focused) [...head.cells].find((cell) => cell.dataset.key === focused)?.querySelector("button").focus();
    };

    const focusRow = (at) => {
      const place = Math.min(Math.max(at, 0), rows.length - 1);
      if (rows.length > FEW) {
        const above = place * HEIGHT, room = region.clientHeight - 2 * HEIGHT;
        if (above < region.scrollTop || above > region.scrollTop + room) region.scrollTop = above - room / 2;
        render(true);
      }
      body.querySelector(`tr[data-at="${place}"] a`)?.focus();
    };

    region.addEventListener("scroll", () => render(false), { passive: true });
    new ResizeObserver(() => render(false)).observe(region);
    region.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() === "a" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        isAll = true;
        region.classList.add("whole");
        say(`all ${rows.length} rows are selected: copy them with Ctrl+C`);
        return;
      }
      if (!event.ctrlKey && !event.metaKey && isAll) { isAll = false; region.classList.remove("whole"); }
      const at = Number(event.target.closest?.("tr[data-at]")?.dataset.at ?? -1);
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
      if (step && !event.altKey) { event.preventDefault(); focusRow(at < 0 ? 0 : at + step); }
    });
    document.addEventListener("copy", (event) => {
      if (!isAll || !region.isConnected) return;
      event.clipboardData.setData("text/plain", tabbed(everything()));
      event.preventDefault();
      say(`${rows.length} rows copied`);
    });
    document.addEventListener("pointerdown", () => { isAll = false; region.classList.remove("whole"); });

    return { region, show, everything, focusRow, render };
  };

  return { create };
})();
