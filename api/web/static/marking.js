"use strict";
// Keys of the marking page; none of them works while one types.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (typing) {
    if (event.key === "Escape") typing.blur();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && typing.form) { event.preventDefault(); typing.form.requestSubmit(); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const part = /^[1-9]$/.test(event.key) ? document.getElementById("part-" + event.key) : event.key === "e" ? document.getElementById("part-1") : null;
  if (part) { event.preventDefault(); part.focus(); part.select(); return; }
  const found = document.querySelector('[data-key="' + CSS.escape(event.key) + '"]');
  if (found) { event.preventDefault(); found.click(); }
});
