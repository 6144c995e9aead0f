"use strict";
/* What every page can do: sections that open, light and dark, copies and downloads of tables, commands
   and charts. Text from elsewhere is only ever set as textContent. */
const rankscope = (() => {
  const byId = (id) => document.getElementById(id);

  /** Make an element: attributes, listeners (functions), and children that are nodes or text. */
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined)
        element.setAttribute(name, String(value));
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return element;
  };

  const button = (text, onClick, attributes = {}) =>
    make("button", { type: "button", click: onClick, ...attributes }, text);

  const say = (text) => { byId("live").textContent = text; };

  /* --- what is remembered ---------------------------------------------------------------------- */

  const remember = (key, value) => {
    try { localStorage.setItem(`rankscope-${key}`, value); } catch { /* a private window */ }
  };
  const remembered = (key) => {
    try { return localStorage.getItem(`rankscope-${key}`); } catch { return null; }
  };

  /* --- copies and downloads -------------------------------------------------------------------- */

  const copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { class: "offscreen", "aria-hidden": "true" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say(`${what} copied`);
  };

  const download = (content, name, type) => {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    say(`${name} saved`);
  };

  const slug = (text) =>
    text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "table";

  /** Write rows of texts and numbers as CSV; what a spreadsheet would take for a formula is quoted. */
  const csv = (rows) => rows.map((row) => row.map((value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.,]+%?$/.test(text))
      text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  }).join(",")).join("\r\n") + "\r\n";

  const tabbed = (rows) => rows.map((row) => row.map((value) =>
    (value === null || value === undefined ? "" : String(value)).replace(/[\t\r\n]+/g, " ")
  ).join("\t")).join("\n") + "\n";

  const copyTools = (rows, name) => [
    button("Copy", () => copy(tabbed(rows()), "table"), { class: "small", "aria-label": `Copy ${name}` }),
    button("CSV", () => download(csv(rows()), `${slug(name)}.csv`, "text/csv"),
      { class: "small", "aria-label": `Save ${name} as CSV` }),
  ];

  /** Return the rows of a table: plain numbers, without signs and words; an interval has two columns. */
  const tableRows = (table) => {
    const rows = [...table.rows], drawn = new Set(), ranged = new Set();
    for (const row of rows)
      [...row.cells].forEach((cell, at) => {
        if (cell.classList.contains("axis")) drawn.add(at);
        if (cell.querySelector(".range")?.textContent.trim()) ranged.add(at);
      });
    const plain = (text) => text.trim().replace(/^[−-](?=[\d.])/, "-").replace(/^\+(?=[\d.])/, "");
    return rows.map((row) => [...row.cells].flatMap((cell, at) => {
      if (drawn.has(at)) return [];
      const isHead = cell.parentElement.parentElement.tagName === "THEAD";
      const text = isHead ? cell.textContent.trim() : plain((cell.querySelector(".value") ?? cell).textContent);
      if (!ranged.has(at)) return [text];
      const ends = cell.querySelector(".range")?.textContent.trim().slice(1, -1).split(", ").map(plain) ?? ["", ""];
      return isHead ? [text, `${text} low`, `${text} high`] : [text, ...ends];
    }));
  };

  const nameOf = (table) => {
    const label = table.getAttribute("aria-label");
    if (label && label !== "Table") return label;
    const heading = table.closest("section, details")?.querySelector("h1, h2, h3");
    return heading ? heading.textContent : "table";
  };

  const addTableTools = () => {
    for (const table of document.querySelectorAll("table")) {
      const tools = make("div", { class: "tabletools" }, copyTools(() => tableRows(table), nameOf(table)));
      const frame = make("div", { class: "tabled" });
      table.replaceWith(frame);
      frame.append(table, tools);
    }
    for (const block of document.querySelectorAll("pre")) {
      const frame = make("div", { class: "tabled code" });
      block.replaceWith(frame);
      block.tabIndex = 0;
      frame.append(make("div", { class: "tabletools" },
        button("Copy", () => copy(block.textContent.replace(/\n$/, ""), "text"),
          { class: "small", "aria-label": "Copy this text" })), block);
    }
  };

  /* --- charts as files ------------------------------------------------------------------------- */

  const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight",
    "text-anchor", "dominant-baseline", "color", "visibility", "display"];

  /** Return a chart as a file of its own: its colours, as they are now, are written into it. */
  const standalone = (svg) => {
    const clone = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")], to = [clone, ...clone.querySelectorAll("*")];
    from.forEach((element, at) => {
      const style = getComputedStyle(element);
      for (const name of STYLES) to[at].style.setProperty(name, style.getPropertyValue(name));
    });
    const box = svg.viewBox.baseVal, edge = 16, head = 26, page = getComputedStyle(document.body);
    const [x, y] = [box.x - edge, box.y - edge - head];
    const [width, height] = [box.width + 2 * edge, box.height + 2 * edge + head];
    const draw = (tag, attributes) => {
      const shape = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
      return shape;
    };
    clone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    clone.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    clone.setAttribute("width", width);
    clone.setAttribute("height", height);
    const paper = draw("rect", { x, y, width, height, fill: page.backgroundColor });
    const title = draw("text", { x: box.x, y: box.y - edge, fill: page.color, "font-size": 14,
      "font-weight": 600, "font-family": page.fontFamily });
    title.textContent = svg.querySelector("title")?.textContent.slice(0, 90) ?? "";
    clone.prepend(paper, title);
    for (const live of clone.querySelectorAll(".cursor")) live.remove();
    return { text: new XMLSerializer().serializeToString(clone), width, height };
  };

  const savePng = (svg, name) => {
    const { text, width, height } = standalone(svg);
    const picture = new Image();
    picture.onload = () => {
      const canvas = make("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => download(blob, `${name}.png`));
    };
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  };

  const chartTools = (svg, title) => {
    const name = slug(title);
    return make("div", { class: "tabletools" },
      button("SVG", () => download(standalone(svg()).text, `${name}.svg`, "image/svg+xml"),
        { class: "small", "aria-label": `Save the chart ${title} as SVG` }),
      button("PNG", () => savePng(svg(), name),
        { class: "small", "aria-label": `Save the chart ${title} as PNG` }));
  };

  const addChartTools = () => {
    for (const svg of document.querySelectorAll("figure svg[role=img]")) {
      const figure = svg.closest("figure");
      if (figure.querySelector(".tabletools")) continue;
      const label = svg.querySelector("title")?.textContent || svg.getAttribute("aria-label") || "chart";
      figure.prepend(chartTools(() => svg, label));
    }
  };

  /* --- light and dark -------------------------------------------------------------------------- */

  const THEMES = { "": ["◐", "as the system"], light: ["○", "light"], dark: ["●", "dark"] };

  const setTheme = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    const [sign, name] = THEMES[theme];
    const control = byId("theme");
    control.textContent = sign;
    control.setAttribute("aria-label", `Colours: ${name}`);
    control.title = `Colours: ${name}`;
    remember("theme", theme);
  };

  const nextTheme = () => {
    const names = Object.keys(THEMES);
    const now = document.documentElement.dataset.theme || "";
    setTheme(names[(names.indexOf(now) + 1) % names.length]);
    say(byId("theme").getAttribute("aria-label"));
  };

  /* --- where the address leads ----------------------------------------------------------------- */

  const routes = {};
  /** Let a function show what an address such as `query/ID?…` names: gets the rest and the options. */
  const route = (name, show) => { routes[name] = show; };

  /* Where the page was left is kept with its entry in the history: going back leads there again. */
  let saving;
  const keepPlace = () => {
    clearTimeout(saving);
    saving = setTimeout(() => history.replaceState({ ...history.state, y: scrollY }, ""), 100);
  };

  const goTo = (target) => {
    const left = history.state?.y;
    if (left !== undefined) scrollTo(0, left);
    else if (target) target.scrollIntoView();
  };

  const follow = async () => {
    clearTimeout(saving);
    const address = location.hash.slice(1);
    const cut = address.indexOf("?");
    const path = cut < 0 ? address : address.slice(0, cut);
    const slash = path.indexOf("/");
    const name = slash < 0 ? path : path.slice(0, slash);
    if (Object.hasOwn(routes, name)) {
      const rest = slash < 0 ? "" : path.slice(slash + 1);
      await routes[name](rest, new URLSearchParams(cut < 0 ? "" : address.slice(cut + 1)));
      goTo(byId("queries"));
      return;
    }
    const target = path && byId(path);
    if (!target) return;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    goTo(target);
    if (history.state?.y !== undefined) return;
    const focus = target.querySelector(":scope > summary") ?? target;
    if (focus === target && !target.hasAttribute("tabindex")) target.setAttribute("tabindex", "-1");
    focus.focus({ preventScroll: true });
  };

  const start = () => {
    document.documentElement.classList.add("scripted");
    byId("tools").append(button("◐", nextTheme, { id: "theme" }));
    const theme = remembered("theme") || "";
    setTheme(Object.hasOwn(THEMES, theme) ? theme : "");
    addTableTools();
    addChartTools();
    history.scrollRestoration = "manual";
    addEventListener("hashchange", follow);
    addEventListener("scroll", keepPlace, { passive: true });
    follow();
  };

  return { byId, make, button, say, copy, download, csv, tabbed, copyTools, chartTools, slug, remember,
    remembered, route, follow, start, nextTheme };
})();
