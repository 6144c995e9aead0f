/* Text from elsewhere, made fit to be shown: what would hide or turn it is spelt out, the words of a
   query are marked. All of it becomes text nodes. */
const explorerTexts = (() => {
  const HIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

  /** Spell out what cannot be seen, such as control characters and turns of direction. */
  const visible = (text) => String(text).replace(/\n/g, " ").replace(HIDDEN, (sign) =>
    sign === "\t" ? " " : `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

  const STOP = new Set(("a an and are as at be but by can could do does for from has have how i if in is it " +
    "its my no not of on or so than that the their them there these they this to was we what when where " +
    "which who why will with you your").split(" "));

  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  /** Return the words of a query that are worth marking. */
  const wordsOf = (query) => {
    const words = (fold(query || "").match(/[\p{L}\p{N}]+/gu) || []).filter((word) => !STOP.has(word));
    return [...new Set(words)].slice(0, 50);
  };

  /** Tell whether two words are the same but for an ending. */
  const alike = (word, wanted) => {
    if (word === wanted) return true;
    const short = Math.min(word.length, wanted.length);
    if (short < 4 || STOP.has(word) || Math.abs(word.length - wanted.length) > 3) return false;
    return word.startsWith(wanted.slice(0, Math.max(4, wanted.length - 2)))
      || wanted.startsWith(word.slice(0, Math.max(4, word.length - 2)));
  };

  /** Return text as nodes, with the words of a query marked. */
  const marked = (text, words) => {
    const nodes = [];
    if (!words.length) return [document.createTextNode(text)];
    let rest = 0;
    for (const match of text.matchAll(/[\p{L}\p{N}]+/gu)) {
      const word = fold(match[0]);
      if (!words.some((wanted) => alike(word, wanted))) continue;
      if (match.index > rest) nodes.push(document.createTextNode(text.slice(rest, match.index)));
      const mark = document.createElement("mark");
      mark.textContent = match[0];
      nodes.push(mark);
      rest = match.index + match[0].length;
    }
    if (rest < text.length) nodes.push(document.createTextNode(text.slice(rest)));
    return nodes;
  };

  /** Return the stretch of a text with most words of the query: about `length` characters. */
  const snippet = (text, words, length) => {
    const line = visible(text);
    if (line.length <= length) return line;
    const hits = [...line.matchAll(/[\p{L}\p{N}]+/gu)]
      .filter((match) => words.some((wanted) => alike(fold(match[0]), wanted)))
      .map((match) => match.index);
    let best = 0, most = 0;
    for (const start of hits) {
      const count = hits.filter((at) => at >= start && at < start + length - 20).length;
      if (count > most) { most = count; best = start; }
    }
    const from = best + length > line.length ? Math.max(0, line.length - length) : best;
    const begin = from > 20 ? line.indexOf(" ", from - 20) + 1 : 0;
    const end = Math.min(begin + length, line.length);
    return `${begin > 0 ? "… " : ""}${line.slice(begin, end)}${end < line.length ? " …" : ""}`;
  };

  const number = (value, digits = 3) => Number.isFinite(value) ? value.toFixed(digits) : "–";
  const signed = (value, digits = 3) => {
    if (!Number.isFinite(value)) return "–";
    const text = value.toFixed(digits);
    return Number(text) > 0 ? `+${text}` : Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  };
  const short = (value) => Number.isFinite(value) ? String(Number(value.toPrecision(6))) : "–";
  const counted = (count, noun) =>
    `${count.toLocaleString("en")} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

  return { visible, fold, wordsOf, marked, snippet, number, signed, short, counted };
})();
