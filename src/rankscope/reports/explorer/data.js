/* The data of the explorer: blocks of compressed columns, taken apart when they are needed. */
const explorerData = (() => {
  const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, i1: Int8Array, u1: Uint8Array };

  const parsed = new Promise((resolve) => {
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", resolve);
    else resolve();
  });

  const bytesOf = (text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text), bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  };

  const unpack = async (name) => {
    if (name !== "overview") await parsed;  // the parser may be in the middle of a block
    const node = document.getElementById(`data-${name}`);
    const packed = new Blob([bytesOf(node.textContent)]).stream();
    const content = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    const bytes = new Uint8Array(content), end = bytes.indexOf(10);
    const block = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
    const columns = {};
    for (const [column, [kind, offset, length]] of Object.entries(block.columns)) {
      const Kind = TYPES[kind], from = end + 1 + offset;
      columns[column] = new Kind(content.slice(from, from + length * Kind.BYTES_PER_ELEMENT));
    }
    return { ...block, columns };
  };

  const blocks = new Map();
  const load = (name) => {
    if (!blocks.has(name)) blocks.set(name, unpack(name));
    return blocks.get(name);
  };

  /** Return the answers to a query, by system, and the ideal order: rows of numbers. */
  const answers = async (overview, query) => {
    const size = overview.queriesABlock, inside = query % size;
    const { columns } = await load(`answers-${Math.floor(query / size)}`);
    const part = (name) => {
      const offsets = columns[`offsets-${name}`], rows = [];
      for (let at = offsets[inside]; at < offsets[inside + 1]; at++)
        rows.push({
          rank: rows.length + 1,
          doc: columns[`doc-${name}`][at],
          grade: columns[`grade-${name}`][at],
          score: columns[`score-${name}`]?.[at],
          adds: columns[`adds-${name}`]?.[at],
        });
      return rows;
    };
    return { systems: overview.systems.map((_, at) => part(at)), ideal: part("ideal") };
  };

  /** Return id, title and text of some documents, by number. */
  const documents = async (overview, numbers) => {
    const size = overview.documentsABlock, wanted = new Map();
    const needed = [...new Set(numbers.map((number) => Math.floor(number / size)))];
    const loaded = new Map(await Promise.all(
      needed.map(async (block) => [block, await load(`documents-${block}`)])));
    for (const number of numbers) {
      const block = loaded.get(Math.floor(number / size)), at = number % size;
      wanted.set(number, { id: block.ids[at], title: block.titles[at], text: block.texts[at] });
    }
    return wanted;
  };

  /** Go through all documents, block by block; `look` gets each block and the number of its first. */
  const allDocuments = async (overview, look, progress) => {
    const size = overview.documentsABlock, blocks = Math.ceil(overview.documents / size);
    for (let block = 0; block < blocks; block++) {
      look(await load(`documents-${block}`), block * size);
      progress(block + 1, blocks);
    }
  };

  /** Go through the answers to all queries; `look` gets a query, a system and documents' numbers. */
  const allAnswers = async (overview, look) => {
    const size = overview.queriesABlock, queries = overview.queries.length;
    for (let first = 0; first < queries; first += size) {
      const { columns } = await load(`answers-${first / size}`);
      overview.systems.forEach((_, system) => {
        const offsets = columns[`offsets-${system}`], docs = columns[`doc-${system}`];
        const grades = columns[`grade-${system}`];
        for (let at = 0; at + 1 < offsets.length; at++)
          look(first + at, system, docs.subarray(offsets[at], offsets[at + 1]),
            grades.subarray(offsets[at], offsets[at + 1]));
      });
    }
  };

  return { load, answers, documents, allDocuments, allAnswers };
})();
