"use strict";
(() => {
  const PAGE = 60;
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;

  /* -- building elements: text is only ever set as text ------------------------------------------------ */

  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

  const escaped = (char) => {
    const code = char.codePointAt(0);
    if (code < 0x100) return "\\x" + code.toString(16).padStart(2, "0");
    return code < 0x10000 ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0");
  };

  /** Text, with what nobody could see in it shown as escapes. */
  function put(parent, text) {
    let from = 0;
    for (const found of text.matchAll(HIDDEN)) {
      if (found.index > from) parent.append(text.slice(from, found.index));
      const mark = document.createElement("span");
      mark.className = "escape";
      mark.textContent = escaped(found[0]);
      parent.append(mark);
      from = found.index + found[0].length;
    }
    if (from < text.length) parent.append(from ? text.slice(from) : text);
    return parent;
  }

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    for (const child of children.flat()) {
      if (child === null || child === undefined || child === false || child === "") continue;
      if (typeof child === "object") element.append(child);
      else put(element, String(child));
    }
    return element;
  }

  /* -- data --------------------------------------------------------------------------------------------- */

  async function unpack(name) {
    const packed = atob(byId("data-" + name).textContent);
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  const chunks = new Map();
  let data = null;
  let rows = [];

  const chunk = (number) => {
    if (!chunks.has(number)) chunks.set(number, unpack(number));
    return chunks.get(number);
  };

  function readRows() {
    const { rows: columns, names, cells, chunks: sizes } = data;
    const found = [];
    let place = 0;
    let number = 0;
    for (let at = 0; at < columns.task.length; at++) {
      if (place === sizes[number]) { place = 0; number++; }
      const row = {
        at, chunk: number, place: place++,
        subset: names.subset[columns.subset[at]], task: columns.task[at], dialect: names.dialect[columns.dialect[at]],
        turn: columns.turn[at], turns: columns.turns[at], sample: columns.sample[at],
        difficulty: names.difficulty[columns.difficulty[at]], line: columns.line[at],
        change: names.change[columns.change[at]],
        cells: cells.map((cell) => cell[at] && {
          status: names.status[cell[at][0]], passed: cell[at][1], total: cell[at][2], kind: names.kind[cell[at][3]],
        }),
      };
      row.solved = row.cells.filter((cell) => cell && cell.status === "graded" && cell.passed === cell.total).length;
      row.words = `${row.task} ${row.subset} ${row.line}`.toLowerCase();
      found.push(row);
    }
    return found;
  }

  const address = (row) =>
    "turn=" + [row.subset, row.task, row.dialect, row.turn, row.sample].map(encodeURIComponent).join("/");

  function outcome(cell) {
    if (cell.status !== "graded") return { name: cell.status, tone: cell.status === "missing" ? "missing" : "other" };
    if (cell.passed === cell.total) return { name: "solved", tone: "solved" };
    return { name: "failed", tone: "failed" };
  }

  /* -- filters, kept in the address --------------------------------------------------------------------- */

  const form = byId("filters");
  const FIELDS = ["q", "full", "status", "subset", "dialect", "kind", "difficulty", "model", "change"];
  const DEFAULT = "unsolved";
  const OUTCOMES = [
    ["unsolved", "not solved"], ["all", "all turns"], ["failed", "failed"], ["missing", "missing"], ["solved", "solved"],
    ["uncounted", "not counted"], ["differ", "models differ"],
  ];
  let opened = null;
  let shown = [];
  let texts = null;

  function readHash() {
    const values = {};
    for (const part of location.hash.slice(1).split("&")) {
      const equals = part.indexOf("=");
      const name = part.slice(0, Math.max(equals, 0));
      if (name === "turn" || FIELDS.includes(name)) values[name] = part.slice(equals + 1);
    }
    return values;
  }

  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

  function writeHash() {
    const parts = [];
    for (const name of FIELDS) {
      const value = field(name);
      if (value && !(name === "status" && value === DEFAULT)) parts.push(`${name}=${encodeURIComponent(value)}`);
    }
    if (opened) parts.push(address(opened));
    try { history.replaceState(null, "", "#" + (parts.join("&") || "turns")); } catch { /* some browsers forbid it for files */ }
  }

  function field(name) {
    const input = form.elements[name];
    return input.type === "checkbox" ? (input.checked ? input.value : "") : input.value.trim();
  }

  function setField(name, value) {
    const input = form.elements[name];
    if (input.type === "checkbox") input.checked = Boolean(value);
    else if (input.tagName !== "SELECT" || [...input.options].some((option) => option.value === value)) input.value = value;
  }

  function fillSelects() {
    const options = (name, values, all) => {
      const select = form.elements[name];
      const kept = values.filter(([value]) => value !== "");
      for (const [value, text] of all ? [["", all], ...kept] : kept) select.append(make("option", { value }, text));
      select.parentElement.hidden = kept.length < 2 && name !== "kind" && name !== "change" || !kept.length;
      if (select.parentElement.hidden) select.parentElement.style.display = "none";
    };
    const plain = (values) => [...values].sort().map((value) => [value, value]);
    options("status", OUTCOMES.filter(([value]) => value !== "differ" || data.models.length > 1));
    for (const name of ["subset", "dialect", "difficulty"]) options(name, plain(data.names[name]), "all");
    const kinds = data.names.kind.filter((kind) => kind.includes("/"));
    const categories = new Set(kinds.map((kind) => kind.split("/")[0]));
    options("kind", plain([...categories, ...kinds]), "all");
    options("model", data.models.map((label, at) => [String(at), label]), "any");
    options("change", data.names.change.map((name) => [name, name.replaceAll("_", " ")]), "any");
  }

  function judge() {
    const want = Object.fromEntries(FIELDS.map((name) => [name, field(name)]));
    const words = want.q.toLowerCase().split(/\s+/).filter(Boolean);
    const status = (cell) => {
      if (!cell) return false;
      const { name } = outcome(cell);
      if (want.status === "all") return true;
      if (want.status === "unsolved") return name === "failed" || name === "missing";
      if (want.status === "uncounted") return name !== "failed" && name !== "missing" && name !== "solved";
      return name === want.status;
    };
    const kind = (cell) => !want.kind || (cell && (cell.kind === want.kind || cell.kind.startsWith(want.kind + "/")));
    return (row) => {
      if (want.subset && row.subset !== want.subset) return false;
      if (want.dialect && row.dialect !== want.dialect) return false;
      if (want.difficulty && row.difficulty !== want.difficulty) return false;
      if (want.change && row.change !== want.change) return false;
      const cells = want.model === "" ? row.cells : [row.cells[Number(want.model)]];
      if (want.status === "differ") {
        const there = row.cells.filter(Boolean).length;
        if (there < 2 || row.solved === 0 || row.solved === there || !cells.some(kind)) return false;
      } else if (!cells.some((cell) => status(cell) && kind(cell))) return false;
      const text = want.full && texts ? texts[row.at] : row.words;
      return words.every((word) => text.includes(word));
    };
  }

  async function readTexts() {
    if (texts) return;
    const count = byId("count");
    const found = [];
    for (let number = 0; number < data.chunks.length; number++) {
      count.textContent = `Reading programs: ${Math.round((100 * number) / data.chunks.length)} %`;
      for (const detail of await unpack(number)) {
        const parts = [detail.prompt, detail.reference, ...detail.runs.map((run) => run && run.program)].map((part) => part ? part[0] : "");
        for (const run of detail.runs) {
          if (!run) continue;
          for (const message of run.messages || []) parts.push(message.code, message.message);
          for (const test of run.tests) parts.push(test.name, test.kind, test.expected, test.actual, test.detail);
        }
        found.push(parts.filter(Boolean).join("\n"));
      }
    }
    texts = rows.map((row) => `${row.words}\n${found[row.at]}`.toLowerCase());
  }

  /* -- the list ----------------------------------------------------------------------------------------- */

  const list = byId("list");
  const more = byId("more");

  async function apply() {
    if (field("full") && field("q")) await readTexts();
    shown = rows.filter(judge());
    list.replaceChildren();
    addRows(PAGE);
    const samples = shown.length === 1 ? "turn" : "turns";
    byId("count").textContent = shown.length === rows.length
      ? `All ${rows.length.toLocaleString("en")} ${samples}`
      : `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} turns`;
  }

  function addRows(number) {
    const start = list.children.length;
    list.append(...shown.slice(start, start + number).map(item));
    more.hidden = list.children.length >= shown.length;
  }

  function item(row) {
    const several = data.models.length > 1;
    const chips = row.cells.map((cell, at) => {
      if (!cell) return null;
      const { name, tone } = outcome(cell);
      const words = name === "failed" ? `${cell.passed}/${cell.total} ${cell.kind.split("/")[1].replaceAll("_", " ")}` : name.replaceAll("_", " ");
      return make("span", { class: `chip ${tone}` },
        several && make("span", { class: `key series-${(at % 6) + 1}`, role: "img", "aria-label": `${data.models[at]}:` }), words);
    });
    const where = [row.subset, row.dialect, row.turns > 1 && `turn ${row.turn} of ${row.turns}`, row.sample && `sample ${row.sample}`];
    const button = make("button", { type: "button", class: "row", "aria-expanded": "false" },
      make("span", { class: "name" }, row.task, make("small", {}, where.filter(Boolean).join(" · "))),
      make("span", { class: "line" }, row.line), make("span", { class: "outcomes" }, chips));
    const element = make("li", {}, button);
    element.dataset.at = row.at;
    button.addEventListener("click", () => toggle(element, row));
    return element;
  }

  const itemOf = (row) => list.querySelector(`:scope > li[data-at="${row.at}"]`);

  function close(element) {
    element.classList.remove("open");
    element.querySelector(".row").setAttribute("aria-expanded", "false");
    element.querySelector(".detail")?.remove();
  }

  async function toggle(element, row) {
    if (element.classList.contains("open")) {
      close(element);
      if (opened === row) opened = null;
      writeHash();
      return;
    }
    await open(element, row);
    opened = row;
    writeHash();
  }

  async function open(element, row) {
    element.classList.add("open");
    element.querySelector(".row").setAttribute("aria-expanded", "true");
    const detail = (await chunk(row.chunk))[row.place];
    if (!element.querySelector(".detail")) element.append(details(row, detail));
  }

  /** Show the row, whatever the filters say, open it and go there. */
  async function reveal(row) {
    if (!shown.includes(row)) {
      for (const name of FIELDS) setField(name, name === "status" ? "all" : "");
      await apply();
    }
    while (!itemOf(row) && list.children.length < shown.length) addRows(PAGE * 5);
    const element = itemOf(row);
    if (!element) return;
    if (!element.classList.contains("open")) await open(element, row);
    opened = row;
    element.querySelector(".row").focus({ preventScroll: true });
    element.scrollIntoView({ block: "start", behavior: "instant" });
  }

  /* -- one turn ----------------------------------------------------------------------------------------- */

  function details(row, detail) {
    const box = make("div", { class: "detail", role: "region", "aria-label": `Turn ${row.task}` });
    const step = (label, by) => {
      const button = make("button", { type: "button", class: "quiet-button" }, label);
      button.addEventListener("click", () => move(row, by));
      return button;
    };
    box.append(make("div", { class: "bar" }, make("a", { href: "#" + address(row) }, "Link to this turn"),
      make("span", {}, step("Previous", -1), step("Next", 1))));
    const any = detail.runs.find(Boolean);
    const facts = [["database", any.database], ["difficulty", any.difficulty], ["reasoning", (any.reasoning_types || []).join(", ")]];
    box.append(make("dl", {}, facts.filter(([, value]) => value).map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value)))));
    box.append(make("h3", {}, "Prompt"), detail.prompt
      ? make("pre", { class: "prompt", tabindex: "0" }, detail.prompt[0] + cutNote(detail.prompt))
      : make("p", { class: "quiet" }, "The texts of this turn are not in this page."));
    const present = detail.runs.map((run, at) => [run, at]).filter(([run]) => run);
    const place = make("div", { id: `result-${row.at}` });
    const select = (at) => {
      place.replaceChildren(result(row, detail, at));
      for (const tab of box.querySelectorAll("[role=tab]")) {
        const here = Number(tab.dataset.at) === at;
        tab.setAttribute("aria-selected", String(here));
        tab.tabIndex = here ? 0 : -1;
        if (here) place.setAttribute("aria-labelledby", tab.id);
      }
    };
    if (present.length > 1) {
      const tabs = make("div", { role: "tablist", "aria-label": "Models" }, present.map(([, at]) => {
        const { name, tone } = outcome(row.cells[at]);
        const tab = make("button", { type: "button", role: "tab", id: `tab-${row.at}-${at}`, "aria-controls": place.id, "data-at": at },
          make("span", { class: `key series-${(at % 6) + 1}` }), data.models[at] + " ", make("span", { class: `chip ${tone}` }, name.replaceAll("_", " ")));
        tab.addEventListener("click", () => select(at));
        return tab;
      }));
      tabs.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        const all = [...tabs.children];
        const next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
        select(Number(next.dataset.at));
        next.focus();
        event.stopPropagation();
      });
      place.setAttribute("role", "tabpanel");
      box.append(tabs);
    }
    box.append(place);
    const wanted = field("model") === "" ? -1 : Number(field("model"));
    const failed = present.find(([, at]) => outcome(row.cells[at]).name !== "solved");
    select(present.some(([, at]) => at === wanted) ? wanted : (failed || present[0])[1]);
    return box;
  }

  const cutNote = (text) => text.length > 1 ? `\n… cut: ${text[1].toLocaleString("en")} characters in all` : "";

  function result(row, detail, at) {
    const run = detail.runs[at];
    const cell = row.cells[at];
    const box = document.createDocumentFragment();
    const facts = [["tests", `${cell.passed} of ${cell.total} passed`], ["engine", run.engine], ["flags", (run.flags || []).join(", ")],
      ["extracted", (run.extracted || []).join("; ")], ["blame", run.blame]];
    box.append(make("dl", {}, facts.filter(([, value]) => value).map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value)))));
    if (run.reason) box.append(make("p", { class: "warning" }, `${cell.status.replaceAll("_", " ")}: ${run.reason}`));
    const failed = run.tests.map((test, number) => [test, (detail.calls || [])[number]]).filter(([test]) => test.kind);
    if (failed.length) {
      box.append(make("h3", {}, failed.length === 1 ? "Failed test" : `Failed tests: ${failed.length}`));
      box.append(testList(failed.slice(0, 12), row.dialect));
      if (failed.length > 12) box.append(fold(`${failed.length - 12} more failed tests`, () => testList(failed.slice(12), row.dialect), "passed"));
    }
    const passed = run.tests.filter((test) => !test.kind);
    if (passed.length) box.append(fold(`${passed.length} passed`, () => make("ul", {}, passed.map((test) => make("li", {}, test.name + timing(test)))), "passed"));
    const strict = (run.strict || []).filter((test) => test.kind);
    if (strict.length) {
      box.append(make("h3", {}, "Failed in the strict reading alone"));
      box.append(testList(strict.map((test) => [test]), row.dialect));
    }
    const elsewhere = (run.messages || []).filter((message) => !message.at);
    if (elsewhere.length) {
      box.append(make("h3", {}, "Messages of the database"));
      box.append(make("ul", { class: "messages" }, elsewhere.map((message) => make("li", {}, make("code", {}, message.code), " ", messageText(message)))));
    }
    const candidate = run.program ? lex(run.program[0], row.dialect) : null;
    const reference = detail.reference ? lex(detail.reference[0], row.dialect) : null;
    const first = candidate && reference ? firstDifference(candidate, reference) : [-1, -1];
    const struck = (run.messages || []).filter((message) => message.at);
    box.append(make("div", { class: "panes" },
      pane(`Candidate${data.models.length > 1 ? ": " + data.models[at] : ""}`, candidate, run.program, first[0], struck, cell.status === "missing" ? "There is no prediction." : "The text is not in this page."),
      pane("Reference", reference, detail.reference, first[1], [], detail.prompt ? "The benchmark has none." : "The text is not in this page.")));
    return box;
  }

  const messageText = (message) => [message.message, message.detail, message.hint && `hint: ${message.hint}`,
    !message.at && message.line && `(line ${message.line} of the call)`].filter(Boolean).join(" ");

  const timing = (test) => {
    const parts = [];
    if (test.elapsed_ms) parts.push(`${test.elapsed_ms} ms` + (test.reference_ms ? `, reference ${test.reference_ms} ms` : ""));
    if (test.work) parts.push(`work ${test.work}` + (test.reference_work ? `, reference ${test.reference_work}` : ""));
    return parts.length ? ` (${parts.join("; ")})` : "";
  };

  function fold(summary, content, name) {
    const box = make("details", { class: name }, make("summary", {}, summary));
    box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(content()); });
    return box;
  }

  function testList(tests, dialect) {
    return make("ul", { class: "tests" }, alike(tests).map(([test, call, others]) => {
      const notes = [test.kind.replaceAll("_", " ").replace("/", ", ")];
      if (test.formatting) notes.push("would pass if only formatting were ignored");
      const entry = make("li", {}, make("p", { class: "what" }, make("strong", {}, others.length ? `${others.length + 1} tests` : test.name), make("span", { class: "quiet" }, notes.join("; "))));
      if (test.detail) entry.append(make("p", { class: "what" }, test.detail));
      if (test.expected !== undefined || test.actual !== undefined) {
        const [expected, actual] = marked(test.expected, test.actual);
        entry.append(make("dl", { class: "pair" }, make("div", {}, make("dt", {}, "expected"), expected), make("div", {}, make("dt", {}, "actual"), actual)));
      }
      if (others.length) entry.append(fold("Which tests", () => make("ul", {}, [test, ...others].map((one) => make("li", {}, one.name))), "calls"));
      if (call) entry.append(fold(others.length ? "What the first of them calls" : "What the test calls", () => make("pre", {}, spans(lex(call, dialect))), "calls"));
      return entry;
    }));
  }

  /** Tests that failed for one and the same reason, taken together: [first, its calls, the others]. */
  function alike(tests) {
    const groups = new Map();
    for (const [test, call] of tests) {
      const same = test.detail && test.expected === undefined && test.actual === undefined;
      const key = same ? `${test.kind}\n${Boolean(test.formatting)}\n${test.detail}` : groups.size;
      if (groups.has(key)) groups.get(key)[2].push(test);
      else groups.set(key, [test, call, []]);
    }
    return [...groups.values()];
  }

  /** Both texts, with the part in which they differ marked. */
  function marked(expected, actual) {
    if (expected === undefined || actual === undefined) {
      return [expected, actual].map((text) => text === undefined ? make("dd", { class: "quiet" }, "(nothing)") : make("dd", {}, make("mark", {}, text)));
    }
    const least = Math.min(expected.length, actual.length);
    let start = 0;
    while (start < least && expected[start] === actual[start]) start++;
    let end = 0;
    while (end < least - start && expected[expected.length - 1 - end] === actual[actual.length - 1 - end]) end++;
    const word = /[\p{L}\p{N}_]/u;
    while (start > 0 && word.test(expected[start - 1])) start--;
    while (end > 0 && word.test(expected[expected.length - end])) end--;
    return [expected, actual].map((text) => make("dd", {}, text.slice(0, start),
      start < text.length - end ? make("mark", {}, text.slice(start, text.length - end)) : null, text.slice(text.length - end)));
  }

  /* -- program text ------------------------------------------------------------------------------------- */

  const KEYWORDS = new Set(("ACCESSIBLE ALL ALTER AND ANY ARRAY AS ASC AT AUTHID AUTONOMOUS_TRANSACTION BEGIN BETWEEN BODY BULK BY CALL CASE CASCADE CAST CLOSE COLLECT COMMENT COMMIT CONNECT CONSTANT CONTINUE CREATE CROSS CURRENT CURSOR DECLARE DEFAULT DEFINER DELETE DESC DETERMINISTIC DISTINCT DO DROP EACH ELSE ELSEIF ELSIF END EXCEPT EXCEPTION EXEC EXECUTE EXISTS EXIT FETCH FIRST FOLLOWING FOR FORALL FOREACH FORM FROM FULL FUNCTION GET GOTO GRANT GROUP HAVING IF IMMEDIATE IMMUTABLE IN INDEX INNER INOUT INSERT INTERSECT INTO IS JOIN KEEP LANGUAGE LAST LATERAL LEFT LEVEL LIKE ILIKE LIMIT LOCK LOOP MATCHED MERGE MINUS MODE NATURAL NEW NEXT NO NOCOPY NOT NOTICE NULL NULLS OF OFFSET OLD ON ONLY OPEN OPTION OR ORDER OTHERS OUT OUTER OVER PACKAGE PARALLEL PARTITION PERFORM PIPE PIPELINED PRAGMA PRECEDING PRIOR PROCEDURE QUERY RAISE RANGE RECORD REF REPLACE RETURN RETURNING RETURNS REVERSE REVOKE RIGHT ROLLBACK ROW ROWS ROWTYPE SAVEPOINT SECURITY SELECT SET SETOF SHARE SOME STABLE START STRICT SUBTYPE TABLE THEN TO TRIGGER TRUNCATE TYPE UNBOUNDED UNION UNIQUE UPDATE USING VALUES VARYING VIEW VOLATILE WHEN WHERE WHILE WINDOW WITH WORK TRUE FALSE " +
    "BIGINT BINARY_DOUBLE BINARY_FLOAT BINARY_INTEGER BLOB BOOLEAN BYTEA CHAR CLOB DATE DOUBLE FLOAT INT INTEGER INTERVAL JSON JSONB NCHAR NCLOB NUMBER NUMERIC NVARCHAR2 PLS_INTEGER PRECISION REAL REFCURSOR SERIAL SIMPLE_INTEGER SMALLINT SYS_REFCURSOR TEXT TIME TIMESTAMP TIMESTAMPTZ UUID VARCHAR VARCHAR2 VOID XMLTYPE ZONE").split(" "));
  const CLOSING = { "[": "]", "(": ")", "{": "}", "<": ">" };
  const LITERAL = { oracle: /[nN]?[qQ]'[^ \t\r\n]|[nN]?'/y, postgres: /(?:[eEnNbBxX]|[uU]&)?'/y };
  const WORD = { oracle: /[\p{L}_][\p{L}\p{N}_$#]*/uy, postgres: /[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_$\u0080-\u{10ffff}]*/uy };
  const NUMBER = /(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?/y;
  const BLANK = /[ \t\r\n\f\v]+/y;
  const PARAMETER = /\$\d+/y;
  const DOLLAR = /\$(?:[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_\u0080-\u{10ffff}]*)?\$/uy;

  /** Pieces [class, text] of a program; joined they are the text. The bodies in dollar quotes are program text, too. */
  function lex(text, dialect) {
    const pieces = [];
    const length = text.length;
    let at = 0;
    let body = null;
    let limit = length;
    const match = (pattern) => { pattern.lastIndex = at; const found = pattern.exec(text); return found ? found[0] : null; };
    const upTo = (end) => end < 0 ? length : end;
    const add = (kind, end) => { const to = Math.min(end, limit); pieces.push([kind, text.slice(at, to)]); at = to; };
    while (at < length) {
      const char = text[at];
      let found;
      if ((found = match(BLANK))) add("", at + found.length);
      else if (text.startsWith("--", at)) add("c", upTo(text.indexOf("\n", at)));
      else if (text.startsWith("/*", at)) add("c", commentEnd(text, at, dialect));
      else if ((found = match(LITERAL[dialect]))) {
        if (/q'/i.test(found)) {
          const open = found[found.length - 1];
          const end = text.indexOf((CLOSING[open] || open) + "'", at + found.length);
          add("s", end < 0 ? length : end + 2);
        } else add("s", stringEnd(text, at + found.length, dialect === "postgres" && /^e/i.test(found)));
      } else if (char === '"') { const end = text.indexOf('"', at + 1); add("", end < 0 ? length : end + 1); }
      else if (dialect === "postgres" && char === "$" && (found = match(DOLLAR))) {
        const end = text.indexOf(found, at + found.length);
        if (at === limit) { body = null; limit = length; add("p", at + found.length); }
        else if (body === null && end >= 0) { add("p", at + found.length); body = found; limit = end; }
        else add("s", end < 0 ? length : end + found.length);
      } else if (dialect === "postgres" && (found = match(PARAMETER))) add("p", at + found.length);
      else if ((found = match(WORD[dialect]))) add(KEYWORDS.has(found.toUpperCase()) ? "k" : "w", at + found.length);
      else if ((found = match(NUMBER))) add("n", at + found.length);
      else if (text.startsWith("..", at)) add("p", at + 2);
      else add("p", at + (char >= "\ud800" && char <= "\udbff" ? 2 : 1));
    }
    return pieces;
  }

  function commentEnd(text, at, dialect) {
    if (dialect === "oracle") { const end = text.indexOf("*/", at + 2); return end < 0 ? text.length : end + 2; }
    const edge = /\/\*|\*\//g;
    edge.lastIndex = at;
    let depth = 0;
    for (let found; (found = edge.exec(text));) {
      depth += found[0] === "/*" ? 1 : -1;
      if (!depth) return edge.lastIndex;
    }
    return text.length;
  }

  function stringEnd(text, from, backslashes) {
    for (let at = from; at < text.length; at++) {
      if (backslashes && text[at] === "\\") at++;
      else if (text[at] === "'") { if (text[at + 1] === "'") at++; else return at + 1; }
    }
    return text.length;
  }

  const spans = (pieces) => pieces.map(([kind, text]) => kind && kind !== "w" && kind !== "p" ? make("span", { class: kind }, text) : put(document.createDocumentFragment(), text));

  /** Numbers of the first pieces in which two programs differ, apart from blanks, comments and case; -1 where they do not. */
  function firstDifference(left, right) {
    const counts = ([kind, text]) => kind !== "c" && (kind !== "" || text.trim() !== "");
    const value = ([kind, text]) => kind === "s" || text[0] === '"' ? text : text.toUpperCase();
    let a = 0;
    let b = 0;
    for (;;) {
      while (a < left.length && !counts(left[a])) a++;
      while (b < right.length && !counts(right[b])) b++;
      if (a >= left.length && b >= right.length) return [-1, -1];
      if (a >= left.length) return [-1, b];
      if (b >= right.length) return [a, -1];
      if (value(left[a]) !== value(right[b])) return [a, b];
      a++;
      b++;
    }
  }

  function pane(title, pieces, text, first, messages, none) {
    const head = make("h3", {}, title);
    const box = make("div", { class: "pane" }, head);
    if (!pieces) {
      box.append(make("p", { class: "quiet" }, none));
      return box;
    }
    const code = make("div", { class: "code", role: "region", "aria-label": title, tabindex: "0" });
    let number = 0;
    let line = null;
    let firstLine = 0;
    const start = () => {
      number++;
      line = make("code", {});
      code.append(make("div", {}, make("span", { "aria-hidden": "true" }, number), line));
    };
    const say = () => {
      for (const message of messages.filter((entry) => Math.min(entry.at, 1e9) === number)) {
        line.parentElement.classList.add("struck");
        code.append(make("p", { class: "message" }, `▲ ${message.code} ${messageText(message)}` + (message.column ? ` (column ${message.column})` : "")));
      }
    };
    start();
    const last = pieces.length - 1;
    pieces.forEach(([kind, piece], at) => {
      const parts = piece.replaceAll("\r\n", "\n").split("\n");
      if (at === last && parts.length > 1 && parts.at(-1) === "") parts.pop(); // a file's last line break begins no line
      parts.forEach((part, index) => {
        if (index) { say(); start(); }
        if (!part) return;
        if (!line.firstChild) line.style.setProperty("--in", kind === "" ? part.length : 0);
        const classes = [kind === "w" || kind === "p" ? "" : kind, at === first ? "first" : ""].filter(Boolean).join(" ");
        if (at === first && !firstLine) firstLine = number;
        if (classes) line.append(make("span", { class: classes }, part));
        else put(line, part);
      });
    });
    say();
    for (const message of messages.filter((entry) => entry.at > number)) code.append(make("p", { class: "message" }, `▲ ${message.code} ${messageText(message)} (line ${message.at})`));
    if (text.length > 1) code.append(make("p", { class: "message" }, `cut: ${text[1].toLocaleString("en")} characters in all; turns.jsonl has more`));
    if (firstLine) head.append(make("small", {}, `first difference in line ${firstLine}`));
    box.append(code);
    requestAnimationFrame(() => {
      const spot = code.querySelector(".message, .first");
      if (spot) code.scrollTop += spot.getBoundingClientRect().top - code.getBoundingClientRect().top - code.clientHeight / 2;
    });
    return box;
  }

  /* -- keyboard, theme, start --------------------------------------------------------------------------- */

  function move(row, by) {
    const next = shown[shown.indexOf(row) + by];
    if (!next) return;
    const element = itemOf(row);
    if (element) close(element);
    reveal(next).then(writeHash);
  }

  function step(by) {
    if (!shown.length) return;
    const here = document.activeElement?.closest?.("#list > li");
    let place = here ? shown.indexOf(rows[Number(here.dataset.at)]) + by : by > 0 ? 0 : shown.length - 1;
    place = Math.max(0, Math.min(shown.length - 1, place));
    while (list.children.length <= place) addRows(PAGE);
    const button = list.children[place].querySelector(".row");
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName || "");
    if (event.key === "Escape") {
      const element = document.activeElement?.closest?.("li.open") || (opened && itemOf(opened));
      if (element && element.classList.contains("open")) { element.querySelector(".row").focus(); toggle(element, rows[Number(element.dataset.at)]); }
      else if (typing) document.activeElement.blur();
    } else if (!typing && event.key === "/") { event.preventDefault(); form.elements.q.focus(); }
    else if (!typing && event.key === "j") step(1);
    else if (!typing && event.key === "k") step(-1);
  });

  function theme() {
    const button = byId("theme");
    const words = { "": "automatic", light: "light", dark: "dark" };
    const set = (value) => {
      if (value) root.dataset.theme = value; else delete root.dataset.theme;
      button.querySelector("span").textContent = words[value];
      try { localStorage.setItem("plsqlbench-theme", value); } catch { /* not kept, then */ }
    };
    let kept = "";
    try { kept = localStorage.getItem("plsqlbench-theme") || ""; } catch { /* none kept */ }
    set(kept in words ? kept : "");
    button.hidden = false;
    button.addEventListener("click", () => { const order = ["", "light", "dark"]; set(order[(order.indexOf(root.dataset.theme || "") + 1) % 3]); });
  }

  /** Do what the address says: filters, and a turn (`#turn=…`, or simply the id of a task). */
  async function follow() {
    const values = readHash();
    const plain = decoded(location.hash.slice(1));
    if (!Object.keys(values).length && plain && byId(plain)) return;
    for (const name of FIELDS) setField(name, name in values ? decoded(values[name]) : name === "status" ? DEFAULT : "");
    await apply();
    opened = null;
    let row = null;
    if (values.turn) {
      const parts = values.turn.split("/").map(decoded);
      row = rows.find((entry) => [entry.subset, entry.task, entry.dialect, entry.turn, entry.sample].every((part, at) => String(part) === parts[at]));
    } else if (!Object.keys(values).length && plain) row = rows.find((entry) => entry.task === plain);
    if (row) await reveal(row);
    else if (plain) {
      if (values.turn || !Object.keys(values).length) byId("count").textContent += " · the turn of this link is not in this report";
      byId("turns").scrollIntoView({ behavior: "instant" });
    }
  }

  async function start() {
    theme();
    try {
      data = await unpack("turns");
    } catch (error) {
      byId("count").textContent = typeof DecompressionStream === "undefined"
        ? "This browser is too old to unpack the turns (it needs DecompressionStream)."
        : `The turns cannot be read: ${error}`;
      return;
    }
    rows = readRows();
    fillSelects();
    form.hidden = false;
    byId("keys").hidden = false;
    await follow();
    let waiting = 0;
    const changed = () => { clearTimeout(waiting); waiting = setTimeout(async () => { opened = null; await apply(); writeHash(); }, 120); };
    form.addEventListener("input", changed);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => { setField("status", DEFAULT); changed(); }));
    more.addEventListener("click", () => addRows(PAGE));
    new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting)) addRows(PAGE); }, { rootMargin: "600px" }).observe(more);
    addEventListener("hashchange", follow);
    document.addEventListener("click", (event) => { // the address does not change where a link is followed again
      const link = event.target.closest?.("a[href^='#']");
      if (link && link.hash === location.hash) follow();
    });
    root.dataset.ready = String(Math.round(performance.now()));
  }

  window.plsqlbench = { lex };
  start();
})();
