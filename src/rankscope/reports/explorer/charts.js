/* Charts of two systems, query by query, as SVG: drawn by hand, coloured by the page's variables.
   A slider moves through the queries, so that a keyboard reaches each as a mouse does. */
const explorerCharts = (() => {
  const { make, chartTools } = rankscope;
  const { visible, number, signed } = explorerTexts;
  const SVG = "http://www.w3.org/2000/svg";

  const svg = (tag, attributes = {}, ...children) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const label = (text, x, y, anchor, more = {}) =>
    svg("text", { x, y, "text-anchor": anchor, ...more }, document.createTextNode(text));

  const least = (values) => values.reduce((low, value) => Math.min(low, value), Infinity);
  const most = (values) => values.reduce((high, value) => Math.max(high, value), -Infinity);

  const nice = (low, high) => {
    const raw = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw);
    return { low: Math.floor(low / step + 1e-9) * step, high: Math.ceil(high / step - 1e-9) * step, step };
  };
  const ticks = ({ low, high, step }) => {
    const values = [];
    for (let at = 0; low + at * step <= high + step / 1e6; at++) values.push(low + at * step);
    return values;
  };
  const tick = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

  const frame = (id, title, description, width, height) => svg("svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${id}-title ${id}-desc`,
    class: "live-chart",
  }, svg("title", { id: `${id}-title` }, document.createTextNode(title)),
  svg("desc", { id: `${id}-desc` }, document.createTextNode(description)));

  /** The differences of all queries, best first: bars above and below 0. */
  const differences = (rows, names, measure) => {
    const width = 640, height = 280, left = 52, right = 12, top = 14, bottom = 34;
    const title = `${measure}: ${names.a} minus ${names.b}, query by query`;
    const wins = rows.filter((row) => row.gain > 0).length, losses = rows.filter((row) => row.gain < 0).length;
    const drawn = frame("differences", title,
      `${names.a} is better on ${wins}, worse on ${losses} and equal on ${rows.length - wins - losses} queries.`,
      width, height);
    const deltas = rows.map((row) => row.delta);
    const reach = Math.max(most(deltas), -least(deltas), 1e-9);
    const axis = nice(Math.min(0, least(deltas)) || -reach / 10, Math.max(0, most(deltas)) || reach / 10);
    const y = (value) => top + (height - top - bottom) * (axis.high - value) / (axis.high - axis.low);
    const step = (width - left - right) / Math.max(rows.length, 1);
    const x = (at) => left + step * (at + .5);
    for (const value of ticks(axis)) {
      drawn.append(svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value),
        class: Math.abs(value) < axis.step / 1e6 ? "zero" : "grid" }));
      drawn.append(label(tick(value), left - 8, y(value) + 4, "end"));
    }
    const paths = { gain: "", loss: "" };
    rows.forEach((row, at) => {
      if (row.gain > 0) paths.gain += `M${x(at).toFixed(2)} ${y(0).toFixed(1)}V${y(row.delta).toFixed(1)}`;
      else if (row.gain < 0) paths.loss += `M${x(at).toFixed(2)} ${y(0).toFixed(1)}V${y(row.delta).toFixed(1)}`;
    });
    const thick = Math.max(step * (step > 3 ? .76 : 1), .6).toFixed(2);
    drawn.append(svg("path", { d: paths.gain || "M0 0", class: "bars good", "stroke-width": thick }));
    drawn.append(svg("path", { d: paths.loss || "M0 0", class: "bars bad", "stroke-width": thick }));
    drawn.append(label(`▲ better on ${wins}`, left + 6, top + 12, "start", { class: "name" }));
    drawn.append(label(`▼ worse on ${losses}`, width - right - 6, height - bottom - 8, "end", { class: "name" }));
    drawn.append(label(`queries, by difference (${rows.length})`, (left + width - right) / 2, height - 8, "middle"));
    const cursor = svg("line", { class: "cursor", y1: top, y2: height - bottom, x1: 0, x2: 0 });
    drawn.append(cursor);
    return {
      drawn, title,
      at: (event) => {
        const box = drawn.getBoundingClientRect();
        const place = ((event.clientX - box.left) / box.width * width - left) / step;
        return Math.min(Math.max(Math.floor(place), 0), rows.length - 1);
      },
      point: (at) => { cursor.setAttribute("x1", x(at)); cursor.setAttribute("x2", x(at)); },
    };
  };

  /** One system against the other: a dot for each query. */
  const scatter = (rows, names, measure) => {
    const width = 360, height = 340, left = 52, right = 14, top = 14, bottom = 42;
    const title = `${measure}: ${names.a} against ${names.b}`;
    const drawn = frame("scatter", title, `Each dot is a query; above the diagonal ${names.a} has more.`, width, height);
    const values = rows.flatMap((row) => [row.a, row.b]);
    const axis = nice(Math.min(0, least(values)), Math.max(most(values), 1e-9));
    const x = (value) => left + (width - left - right) * (value - axis.low) / (axis.high - axis.low);
    const y = (value) => height - bottom - (height - top - bottom) * (value - axis.low) / (axis.high - axis.low);
    for (const value of ticks(axis)) {
      drawn.append(svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }));
      drawn.append(svg("line", { x1: x(value), x2: x(value), y1: top, y2: height - bottom, class: "grid" }));
      drawn.append(label(tick(value), left - 8, y(value) + 4, "end"));
      drawn.append(label(tick(value), x(value), height - bottom + 16, "middle"));
    }
    drawn.append(svg("line", { x1: x(axis.low), y1: y(axis.low), x2: x(axis.high), y2: y(axis.high), class: "zero" }));
    const paths = { gain: "", loss: "", even: "" };
    for (const row of rows)
      paths[row.gain > 0 ? "gain" : row.gain < 0 ? "loss" : "even"] += `M${x(row.b).toFixed(1)} ${y(row.a).toFixed(1)}h0`;
    const size = rows.length > 2000 ? 3.4 : rows.length > 300 ? 5 : 7;
    drawn.append(svg("path", { d: paths.even || "M0 0", class: "dots quiet", "stroke-width": size }));
    drawn.append(svg("path", { d: paths.loss || "M0 0", class: "dots bad", "stroke-width": size }));
    drawn.append(svg("path", { d: paths.gain || "M0 0", class: "dots good", "stroke-width": size }));
    drawn.append(label(visible(names.b).slice(0, 40), (left + width - right) / 2, height - 6, "middle"));
    drawn.append(label(visible(names.a).slice(0, 40), 13, (top + height - bottom) / 2, "middle",
      { transform: `rotate(-90 13 ${(top + height - bottom) / 2})` }));
    const cursor = svg("circle", { class: "cursor ring", r: 6, cx: -20, cy: -20 });
    drawn.append(cursor);
    return {
      drawn, title,
      at: (event) => {
        const box = drawn.getBoundingClientRect();
        const px = (event.clientX - box.left) / box.width * width;
        const py = (event.clientY - box.top) / box.height * height;
        let best = 0, nearest = Infinity;
        rows.forEach((row, at) => {
          const far = (x(row.b) - px) ** 2 + (y(row.a) - py) ** 2;
          if (far < nearest) { nearest = far; best = at; }
        });
        return best;
      },
      point: (at) => { cursor.setAttribute("cx", x(rows[at].b)); cursor.setAttribute("cy", y(rows[at].a)); },
    };
  };

  /** Put both charts into a place, with what the mouse or the slider is on below them. */
  const draw = (place, rows, names, measure, linkOf) => {
    place.replaceChildren();
    if (!rows.length) {
      place.append(make("p", { class: "quiet" }, "No query has a value of both."));
      return;
    }
    const charts = [differences(rows, names, measure), scatter(rows, names, measure)];
    const words = make("span", {}), open = make("a", { href: "#queries" }, "open");
    const slider = make("input", { type: "range", min: 0, max: rows.length - 1, value: 0,
      "aria-label": "Move through the queries, from the best difference to the worst" });
    const point = (at) => {
      const row = rows[at];
      for (const chart of charts) chart.point(at);
      slider.value = at;
      words.textContent = `${visible(row.text || row.id).slice(0, 160)}: ${number(row.a)} against ${number(row.b)} (${signed(row.delta)}) `;
      slider.setAttribute("aria-valuetext", words.textContent);
      open.href = linkOf(row);
      open.setAttribute("aria-label", `Open the query ${visible(row.id).slice(0, 100)}`);
    };
    slider.addEventListener("input", () => point(Number(slider.value)));
    const figures = charts.map((chart, at) => {
      const figure = make("figure", { class: at ? "square" : "wide" }, chartTools(() => chart.drawn, chart.title),
        make("figcaption", {}, visible(chart.title)), chart.drawn);
      chart.drawn.addEventListener("pointermove", (event) => point(chart.at(event)));
      chart.drawn.addEventListener("click", (event) => {
        point(chart.at(event));
        location.hash = open.getAttribute("href");
      });
      return figure;
    });
    place.append(make("div", { class: "pair" }, figures),
      make("div", { class: "pointed" }, slider, make("p", {}, words, open)));
    point(0);
  };

  return { draw };
})();
