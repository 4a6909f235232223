"use strict";
// Shows what the events bring. All of it is put in as text, never as markup.
(() => {
  const at = (id) => document.getElementById(id);
  const text = (id, words) => { const part = at(id); if (part.textContent !== words) part.textContent = words; };
  const made = (tag, words, className) => {
    const part = document.createElement(tag);
    if (words !== undefined) part.textContent = words;
    if (className) part.className = className;
    return part;
  };
  const drawn = (tag, attributes, words) => {
    const part = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) part.setAttribute(name, value);
    if (words !== undefined) part.textContent = words;
    return part;
  };
  const duration = (seconds) => {
    const s = Math.max(0, Math.round(seconds));
    return s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
  };

  let state = null, points = [], epoch = -1, skew = 0, ended = false;

  const fill = (id, rows, code) => {
    const body = at(id).tBodies[0];
    body.replaceChildren(...rows.map((cells) => {
      const row = made("tr");
      cells.forEach((cell, column) => {
        const part = made(column ? "td" : "th");
        if (!column) part.scope = "row";
        if (column === code) part.append(made("code", cell)); else part.textContent = cell;
        row.append(part);
      });
      return row;
    }));
  };

  const show = () => {
    const s = state;
    text("kernel", s.kernel || "Preparing");
    document.title = (s.best ? `${s.best.speedup} ` : "") + `${s.kernel || "Warpsmith"}: live`;
    text("best", s.best ? s.best.speedup : "…");
    text("interval", s.best && s.best.interval ? ` ${s.best.interval}` : "");
    text("best-configuration", s.best ? s.best.configuration : "");
    at("about").replaceChildren(...Object.entries(s.about).map(([name, words]) => {
      const entry = made("div");
      entry.append(made("dt", name), made("dd", words));
      return entry;
    }));
    const counts = Object.entries(s.counts).map(([name, count]) => `${count} ${name}`).join(" · ");
    text("counts", counts);
    at("queued").replaceChildren(...s.queued.map((words) => { const item = made("li"); item.append(made("code", words)); return item; }));
    fill("latest", s.latest.map((e) => [String(e.number), e.outcome, e.figure, e.configuration]), 3);
    at("latest-table").hidden = !s.latest.length;
    at("with-rounds").hidden = !s.rounds.length;
    const opened = new Set([...at("round-list").querySelectorAll("details[open]")].map((part) => part.dataset.round));
    at("round-list").replaceChildren(...s.rounds.map((round) => {
      const part = made("article");
      part.append(made("h3", `Round ${round.round}`));
      if (round.reason) part.append(made("p", round.reason));
      if (round.space) part.append(made("p", round.space, "note"));
      if (round.best) part.append(made("p", `${round.evaluations} evaluations; best so far ${round.best}, as searched`));
      if (round.findings.length) {
        const more = made("details"), list = made("ul");
        more.dataset.round = String(round.round);
        more.open = opened.has(more.dataset.round);
        list.append(...round.findings.map((words) => made("li", words)));
        more.append(made("summary", `Based on these findings (${round.findings.length})`), list);
        part.append(more);
      }
      return part;
    }));
    at("with-notes").hidden = !s.notes.length && !(s.cost && s.cost.tokens);
    text("cost", s.cost && s.cost.tokens ? `Models so far: ${s.cost.tokens.toLocaleString("en")} tokens, ${s.cost.price}` : "");
    const notes = at("notes"), below = notes.scrollTop + notes.clientHeight >= notes.scrollHeight - 8;
    notes.replaceChildren(...s.notes.map((note) => {
      const item = made("li");
      item.append(made("b", note.who), document.createTextNode(note.text));
      return item;
    }));
    if (below) notes.scrollTop = notes.scrollHeight;
    at("batch").hidden = !s.kernels.length;
    text("batch-now", s.batch);
    fill("kernel-table", s.kernels.map((k) => [k.kernel, String(k.stage ?? ""), k.best, k.result]));
    s.kernels.forEach((k, row) => { at("kernel-table").tBodies[0].rows[row].className = k.now ? "now" : ""; });
    plot();
    tick();
  };

  // What changes by itself: how long something has been going on.
  const tick = () => {
    if (!state) return;
    const now = Date.now() / 1000 - skew, s = state, stage = s.stage;
    const of = stage.of ? ` ${stage.step} of ${stage.of}` : stage.step ? ` ${stage.step}` : "";
    text("stage", stage.name + of);
    text("stage-detail", ended ? "" : `${stage.detail} for ${duration(now - stage.since)}`.trim());
    fill("working", s.working.map((w) => [w.where, w.step, duration(now - w.since), w.configuration]), 3);
    at("working-table").hidden = !s.working.length || ended;
    const limits = s.limit ? ` of ${s.limit}` : "", left = s.left_s !== null ? `, about ${duration(s.left_s)} left` : "";
    text("spent", `${s.evaluated} evaluations${limits}, ${duration(s.seconds + now - s.now)}${left}`);
    const progress = at("progress");
    if (s.limit) { progress.max = s.limit; progress.value = Math.min(s.evaluated, s.limit); }
    else if (s.limit_s) { progress.max = s.limit_s; progress.value = Math.min(s.seconds, s.limit_s); }
  };

  const plot = () => {
    const box = at("plot"), width = Math.max(320, Math.round(box.clientWidth || 640)), height = Math.round(Math.min(360, Math.max(220, width / 2.4)));
    const left = 44, right = width - 12, top = 12, base = height - 44, failures = height - 30;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Speedups of ${points.length} evaluations; best ${state.best ? state.best.speedup : "none"}` });
    const timed = points.filter((p) => p[2] !== null);
    const most = Math.max(1.1, ...timed.map((p) => p[2])) * 1.05, least = Math.min(0.9, ...timed.map((p) => p[2])) / 1.05;
    const span = Math.max(points.length, state.limit ?? 0, 10);
    const x = (n) => left + (right - left) * n / span;
    const y = (v) => base - (base - top) * Math.log(v / least) / Math.log(most / least);
    const marks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].filter((v) => v >= least && v <= most);
    if (marks.length < 3) for (const v of [0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 1.75, 3, 4, 7]) if (v >= least && v <= most) marks.push(v);
    let above = Infinity; // labels keep their distance; that of the original's speed comes first
    const wanted = marks.sort((a, b) => a - b).filter((v) => {
      const apart = v === 1 || (above - y(v) >= 18 && (v > 1 || y(v) - y(1) >= 18) && (v < 1 || y(1) - y(v) >= 18 || least > 1));
      if (apart) above = y(v);
      return apart;
    });
    for (const v of wanted) {
      svg.append(drawn("line", { x1: left, x2: right, y1: y(v), y2: y(v), class: v === 1 ? "one" : "grid" }));
      svg.append(drawn("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, `${v}x`));
    }
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((n) => span / n <= Math.max(3, width / 110)) ?? 10000;
    for (let n = 0; n <= span; n += step) svg.append(drawn("text", { x: x(n), y: height - 6, "text-anchor": "middle" }, String(n)));
    svg.append(drawn("line", { x1: left, x2: right, y1: base + 1, y2: base + 1, class: "axis" }));
    let best = null, path = "";
    const every = Math.max(1, Math.ceil(points.length / 3000)); // a screen has no more dots
    points.forEach(([number, outcome, speedup], index) => {
      if (speedup !== null && (best === null || speedup > best)) {
        path += best === null ? `M${x(number)} ${y(speedup)}` : `H${x(number)}V${y(speedup)}`;
        best = speedup;
      }
      if (index % every) return;
      const mark = speedup === null
        ? drawn("path", { d: `M${x(number) - 3} ${failures - 3}l6 6m0 -6l-6 6`, class: "failed" })
        : drawn("circle", { cx: x(number), cy: y(speedup), r: 3, class: "point" });
      mark.append(drawn("title", {}, `#${number} ${outcome}${speedup === null ? "" : ` ${speedup.toFixed(2)}x`}`));
      svg.append(mark);
    });
    if (best !== null) svg.append(drawn("path", { d: `${path}H${x(points.length)}`, class: "best" }));
    box.replaceChildren(svg);
  };

  const end = (words) => {
    ended = true;
    source.close();
    if (words === "report") { location.replace("report"); return; }
    text("words", words);
    at("words").className = "gone";
    tick();
  };

  const source = new EventSource("events");
  source.onmessage = (message) => {
    state = JSON.parse(message.data);
    skew = Date.now() / 1000 - state.now;
    if (state.epoch !== epoch) { points = []; epoch = state.epoch; }
    points = points.slice(0, state.since).concat(state.points);
    show();
    if (state.ended !== null) end(state.ended);
  };
  source.onerror = () => { if (source.readyState === EventSource.CLOSED && !ended) end("The connection to the run was lost."); };
  source.onopen = () => at("words").classList.remove("gone");
  setInterval(tick, 1000);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => state && plot(), 100); });
})();
