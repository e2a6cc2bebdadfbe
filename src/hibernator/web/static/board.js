// The dashboard's frame: times on the reader's clock, and the keyboard.
import { countDown } from "./times.js";
import { follow } from "./live.js";

setInterval(() => countDown(document), 15000);
if (document.body.dataset.topics) follow();

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.previousElementSibling.textContent);
  button.textContent = "Copied";
});

const nav = document.querySelector(".rooms"), here = nav?.querySelector("[aria-current]"); // wider than a phone
if (here) nav.scrollLeft = here.offsetLeft + (here.offsetWidth - nav.clientWidth) / 2;

const rooms = { o: "/", p: "/plans", s: "/scalers", e: "/exceptions", r: "/remediations", a: "/audit" };
let went = 0; // when `g` was pressed

// An address says what is asked for, and nothing of the fields that are left empty.
document.addEventListener("formdata", ({ target, formData }) => {
  if (!target.matches(".filters")) return;
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
  } else if (event.key === "g") {
    went = Date.now();
  } else if (event.key === "?") {
    document.getElementById("keys")?.showModal();
  } else if (rooms[event.key] && Date.now() - went < 1500) {
    location.assign(rooms[event.key]);
  }
});
