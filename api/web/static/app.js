"use strict";
// Small improvements of pages that work without them: parts loaded in place, drafts, counts, progress.
const body = document.body;
const say = (text) => { document.getElementById("live").textContent = text; };

function store(key, value) {
  try { if (value === undefined) return localStorage.getItem(key); if (value) localStorage.setItem(key, value); else localStorage.removeItem(key); } catch { /* not allowed here */ }
  return null;
}

async function load(url, options, target) {
  const answer = await fetch(url, { ...options, headers: { "X-Partial": "1", ...(options.headers || {}) }, credentials: "same-origin" });
  const place = answer.headers.get("X-Location");
  if (place) { location.assign(place); return false; }
  target.innerHTML = await answer.text();
  prepare(target);
  return true;
}

function submitted(form) {
  form.addEventListener("submit", async (event) => {
    const target = document.querySelector(form.dataset.target), button = event.submitter || form.querySelector("button");
    event.preventDefault();
    if (button.getAttribute("aria-busy") === "true") return;
    button.setAttribute("aria-busy", "true");
    const data = new FormData(form), more = form.dataset.with && document.getElementById(form.dataset.with);
    if (more) for (const [name, value] of new FormData(more)) if (!data.has(name)) data.set(name, value);
    if (button.name) data.set(button.name, button.value);
    try {
      const shown = await load(form.action, { method: "POST", body: data }, target);
      const head = shown && target.querySelector("[tabindex='-1']");
      if (head) { head.focus({ preventScroll: true }); target.scrollIntoView({ block: "nearest" }); }
    } catch { say(body.dataset.failed); target.insertAdjacentHTML("afterbegin", '<p class="notice bad" role="alert"></p>'); target.firstChild.textContent = body.dataset.failed; }
    button.removeAttribute("aria-busy");
  });
}

function counted(area) {
  const output = document.querySelector(area.dataset.count);
  const show = () => { output.textContent = (area.value.match(/\S+/gu) || []).length + " " + body.dataset.words; };
  area.addEventListener("input", show);
  show();
}

function drafted(area) {
  const key = "draft:" + area.dataset.draft, kept = store(key);
  if (kept && !area.value.trim()) { area.value = kept; area.dispatchEvent(new Event("input")); say(body.dataset.saved); }
  area.addEventListener("input", () => store(key, area.value));
  if (area.dataset.clear !== undefined && area.form) area.form.addEventListener("submit", () => store(key, ""));
}

function best(area) {
  const found = area.querySelector("[data-score]");
  if (!found || found.dataset.score === "") return;
  const key = "best:" + area.dataset.best, share = Number(found.dataset.score) / Number(found.dataset.max);
  if (share > Number(store(key) || -1)) store(key, String(share));
}

function listed(row) {
  const share = store("best:" + row.dataset.bestOf), badge = row.querySelector(".best");
  if (share === null || !badge) return;
  badge.textContent = Math.round(100 * Number(share)) + " %";
  badge.hidden = false;
}

function watched(box) {
  const source = new EventSource(box.dataset.events), bar = box.querySelector("progress"), text = box.querySelector("output");
  source.addEventListener("progress", (event) => {
    const job = JSON.parse(event.data);
    bar.max = Math.max(job.total, 1); bar.value = job.total ? job.done : 1;
    text.textContent = job.done + " / " + job.total;
    if (!["active", "paused"].includes(job.state)) { source.close(); location.reload(); }
  });
}

function saved(area) {
  const output = document.querySelector(area.dataset.state);
  let timer = 0, busy = false, again = false;
  const save = async () => {
    if (busy) { again = true; return; }
    busy = true; again = false;
    const data = new FormData();
    data.set("csrf", body.dataset.csrf); data.set("response", area.value); data.set("revision", area.dataset.revision);
    try {
      const answer = await fetch(area.dataset.autosave, { method: "POST", body: data, headers: { "X-Partial": "1" } });
      const found = answer.ok ? await answer.json() : null;
      if (found) { area.dataset.revision = found.revision; area.form.elements.revision.value = found.revision; output.textContent = found.message; output.className = "chip good"; }
      else { output.textContent = area.dataset.problem; output.className = "chip bad"; }
    } catch { output.textContent = area.dataset.problem; output.className = "chip bad"; }
    busy = false;
    if (again) save();
  };
  area.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(save, 700); });
  area.addEventListener("change", save);
}

function linted(area) {
  const target = document.querySelector(area.dataset.lint);
  let timer = 0, turn = 0;
  const run = async () => {
    const mine = ++turn, data = new FormData();
    data.set("csrf", body.dataset.csrf); data.set("yaml", area.value);
    try {
      const answer = await fetch("/rubrics/lint", { method: "POST", body: data, headers: { "X-Partial": "1" } });
      const html = await answer.text();
      if (mine === turn) target.innerHTML = html;
    } catch { say(body.dataset.failed); }
  };
  area.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(run, 500); });
}

function formed(box) {
  const area = document.querySelector(box.dataset.fields);
  let timer = 0, last = Promise.resolve();
  const inTurn = (job) => { last = last.then(job).catch(() => say(body.dataset.failed)); };
  const send = (url, more) => {
    const data = new FormData();
    data.set("csrf", body.dataset.csrf); data.set("yaml", area.value);
    for (const [name, value] of Object.entries(more)) data.set(name, value);
    return fetch(url, { method: "POST", body: data, headers: { "X-Partial": "1" } });
  };
  const parts = () => [...box.querySelectorAll("details")];
  const own = () => box.querySelectorAll("[form]").forEach((one) => one.removeAttribute("form"));
  const refresh = async () => {
    const open = new Set(parts().filter((one) => one.open).map((one) => one.dataset.key)), known = new Set(parts().map((one) => one.dataset.key));
    box.innerHTML = await (await send("/rubrics/fields", {})).text();
    parts().forEach((one) => { if (known.has(one.dataset.key)) one.open = open.has(one.dataset.key); });
    own();
  };
  const show = (part) => {
    const fold = part && part.closest("details"), target = part ? part.querySelector("input, textarea") : box.querySelector("summary");
    if (fold) fold.open = true;
    if (target) target.focus();
  };
  const write = async (url, more) => {
    const answer = await send(url, more), text = await answer.text(), place = box.querySelector("[data-problem]");
    place.innerHTML = answer.ok ? "" : text;
    if (!answer.ok) { place.scrollIntoView({ block: "nearest" }); return null; }
    area.value = text; area.dispatchEvent(new Event("input"));
    return answer;
  };
  const change = async (button) => {
    const fold = button.closest("details"), near = fold ? fold.dataset.key : "";
    const answer = await write("/rubrics/fields/part", { part: button.value, component: box.querySelector("[name=component]").value });
    if (!answer) return;
    await refresh();
    const made = answer.headers.get("X-Part");
    show(made ? [...box.querySelectorAll("[data-path]")].find((one) => one.dataset.path === made) : parts().find((one) => one.dataset.key === near));
  };
  area.addEventListener("input", () => { if (document.activeElement === area) { clearTimeout(timer); timer = setTimeout(() => inTurn(refresh), 600); } });
  box.addEventListener("click", (event) => {
    const button = event.target.closest("button[name=part]");
    if (button && (!button.value.startsWith("remove ") || confirm(body.dataset.sure))) inTurn(() => change(button));
  });
  box.addEventListener("change", ({ target }) => { if (target.name !== "component") inTurn(() => write("/rubrics/fields/apply", { path: target.name, value: target.value })); });
  document.querySelectorAll("[data-no-script]").forEach((one) => one.remove());
  own();
}

function continued(place) {
  const rows = document.querySelector(place.dataset.more);
  const watch = new IntersectionObserver(async (seen) => {
    const link = place.querySelector("a[rel=next]");
    if (!seen.some((one) => one.isIntersecting) || !link || place.getAttribute("aria-busy") === "true") return;
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(link.href, { credentials: "same-origin" }), found = new DOMParser().parseFromString(await answer.text(), "text/html");
      const more = found.querySelector(place.dataset.more), next = found.querySelector("[data-more]");
      if (more) rows.append(...more.children);
      const on = next && next.querySelector("a[rel=next]");
      if (on) link.href = on.href; else { watch.disconnect(); place.remove(); }
    } catch { watch.disconnect(); }
    place.removeAttribute("aria-busy");
    if (place.isConnected) { watch.unobserve(place); watch.observe(place); }
  }, { rootMargin: "200px" });
  watch.observe(place);
}

function summed(form) {
  const total = form.querySelector("[data-total]"), inputs = [...form.querySelectorAll("[data-part]")], step = Number(form.dataset.step), top = Number(form.dataset.max);
  const fixed = Number(form.dataset.fixed || 0);
  const show = () => {
    const raw = inputs.reduce((sum, input) => sum + Number(input.value || 0), 0) + fixed;
    total.textContent = String(Math.min(top, Math.max(0, Math.floor(raw / step + 0.5 + 1e-9) * step)));
  };
  inputs.forEach((input) => input.addEventListener("input", show));
  show();
}

function prepare(root) {
  const each = (query, action) => { root.querySelectorAll(query).forEach(action); };
  each("form[data-target]", submitted);
  each("[data-draft]", drafted);
  each("[data-count]", counted);
  each("[data-best-of]", listed);
  each("[data-events]", watched);
  each("[data-autosave]", saved);
  each("[data-lint]", linted);
  each("[data-fields]", formed);
  each("form[data-step]", summed);
  each("[data-more]", continued);
  each(".written", (box) => { if (box.scrollHeight > box.clientHeight) box.tabIndex = 0; });
  each("[data-load]", (box) => load(box.dataset.load, {}, box).catch(() => say(body.dataset.failed)));
  each("form[data-confirm]", (form) => form.addEventListener("submit", (event) => { if (!confirm(form.dataset.confirm)) event.preventDefault(); }));
  const area = root.closest ? root.closest("[data-best]") : null;
  if (area) best(area);
}

prepare(document);
document.querySelectorAll("[data-best]").forEach(best);
