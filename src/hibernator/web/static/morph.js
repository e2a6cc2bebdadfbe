// Makes a part of the page like another one, and leaves alone what is the same already: what has the focus, is
// selected, scrolled, opened or typed stays so.
const move = Element.prototype.moveBefore ?? Element.prototype.insertBefore; // the first keeps the focus, too

export function morph(old, fresh) {
  const focused = document.activeElement;
  change(old, fresh);
  if (focused.isConnected) focused.focus({ preventScroll: true });
}

function change(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) return void (old.data = fresh.data);
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    const typed = name === "value" && old.type !== "hidden";
    if (!typed && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.localName !== "textarea") changeChildren(old, [...fresh.childNodes]);
}

function changeChildren(old, fresh) {
  const known = new Map();
  for (const one of old.childNodes) known.set(keyOf(one), [...(known.get(keyOf(one)) ?? []), one]);
  const pairs = fresh.map((one) => [keyOf(one) && known.get(keyOf(one))?.shift(), one]);
  const gone = [...known.values()].flat(), kept = new Set(gone.filter(isTyped));
  for (const one of gone) if (!kept.has(one)) one.remove();
  let place = old.firstChild;
  for (const [found, one] of pairs) {
    while (kept.has(place)) place = place.nextSibling;
    if (!found) old.insertBefore(one, place);
    else if (found === place) place = place.nextSibling;
    else move.call(old, found, place);
    if (found) change(found, one);
  }
}

// What is the same thing before and after: by its id, or by where its first link leads. Blanks are nothing.
function keyOf(one) {
  if (one.nodeType !== Node.ELEMENT_NODE) return one.data.trim() && one.nodeName;
  const link = one.localName === "a" ? one : one.matches("tr, li, .strip-row") && one.querySelector("a");
  return `${one.nodeName} ${one.id || (link && link.getAttribute("href"))}`;
}

function isTyped(one) {
  const fields = one.querySelectorAll?.("input, textarea") ?? [];
  return [...fields].some((field) => field.value !== field.defaultValue || field === document.activeElement);
}
